// SPDX-License-Identifier: Apache-2.0

import TribuneService
import TribuneWeb

WebProgram.main()

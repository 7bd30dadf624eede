// SPDX-License-Identifier: Apache-2.0

import TribuneNATS
import TribuneService

NATSProgram.main()

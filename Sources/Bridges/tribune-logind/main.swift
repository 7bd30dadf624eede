// SPDX-License-Identifier: Apache-2.0

import TribuneLogind
import TribuneService

LogindProgram.main()

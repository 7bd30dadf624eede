/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>
#include <systemd/sd-id128.h>

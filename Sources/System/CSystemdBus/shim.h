/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

# SPDX-License-Identifier: Apache-2.0
"""The client of Tribune, a bus for one host."""

# SPDX-License-Identifier: Apache-2.0
"""Checks torchfeed on a machine with a GPU; see README.md."""

// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a symbol that the facade library exports; all others are hidden.
#define TORCHFEED_API __attribute__((visibility("default")))

// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the facade library exports; everything else is hidden.
#define TORCHFEED_API __attribute__((visibility("default")))

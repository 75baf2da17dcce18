// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.examples.planner;

import org.jspecify.annotations.NullMarked;

// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.memory;

import org.jspecify.annotations.NullMarked;

// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.bindings;

import org.jspecify.annotations.NullMarked;

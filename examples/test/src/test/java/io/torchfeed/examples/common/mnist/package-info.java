// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.examples.common.mnist;

import org.jspecify.annotations.NullMarked;

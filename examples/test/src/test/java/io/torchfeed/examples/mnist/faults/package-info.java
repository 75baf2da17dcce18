// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.examples.mnist.faults;

import org.jspecify.annotations.NullMarked;

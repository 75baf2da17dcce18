// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.examples.images;

import org.jspecify.annotations.NullMarked;

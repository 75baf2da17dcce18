// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.data;

import org.jspecify.annotations.NullMarked;

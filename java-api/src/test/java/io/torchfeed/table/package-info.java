// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.torchfeed.table;

import org.jspecify.annotations.NullMarked;

// SPDX-License-Identifier: Apache-2.0
/** The tests that every loader must pass, and the classes that run them with each engine. */
@NullMarked
package io.torchfeed.data.contract;

import org.jspecify.annotations.NullMarked;

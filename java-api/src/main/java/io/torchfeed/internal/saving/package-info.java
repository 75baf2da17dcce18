// SPDX-License-Identifier: Apache-2.0
/** Work beside the thread that saves a state. Not part of the API. */
@NullMarked
package io.torchfeed.internal.saving;

import org.jspecify.annotations.NullMarked;

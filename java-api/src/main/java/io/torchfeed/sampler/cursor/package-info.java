// SPDX-License-Identifier: Apache-2.0
/**
 * The works behind plans: skeletons of cursors, and the division of epochs among changing numbers
 * of ranks. Not exported, not part of the API.
 */
@NullMarked
package io.torchfeed.sampler.cursor;

import org.jspecify.annotations.NullMarked;

// SPDX-License-Identifier: Apache-2.0
/**
 * Files of token ids, for language models.
 *
 * <p>{@link io.torchfeed.data.token.TokenFile} reads raw files of ids and Megatron's, and makes
 * samples: windows of a fixed number of tokens, which native code gathers as int64, or whole
 * documents packed into such windows. {@link io.torchfeed.data.token.TokenWriter} writes such
 * files.
 */
@NullMarked
package io.torchfeed.data.token;

import org.jspecify.annotations.NullMarked;

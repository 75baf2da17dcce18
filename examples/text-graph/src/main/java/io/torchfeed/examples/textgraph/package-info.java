// SPDX-License-Identifier: Apache-2.0
/**
 * PageRank of a file of edges that is divided over one Java process a rank.
 *
 * <p>Start reading at {@code Main} (options), then {@code GraphRank} (what one rank does) and
 * {@code PageRank} (the tensors). Imports exported torchfeed packages only.
 */
@NullMarked
package io.torchfeed.examples.textgraph;

import org.jspecify.annotations.NullMarked;

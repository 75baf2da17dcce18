// SPDX-License-Identifier: Apache-2.0
/**
 * PageRank of a file of edges, distributed over one Java process per rank.
 *
 * <p>Start reading at {@code Main} (options), then {@code GraphRank} (the work of one rank) and
 * {@code PageRank} (the tensors). The program imports only exported torchfeed packages.
 */
@NullMarked
package io.torchfeed.examples.textgraph;

import org.jspecify.annotations.NullMarked;

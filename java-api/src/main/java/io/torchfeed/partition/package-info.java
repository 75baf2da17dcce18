// SPDX-License-Identifier: Apache-2.0
/**
 * Text files, and the graphs and matrices in them, divided over ranks.
 *
 * <p>The flow has one direction: files → {@link io.torchfeed.partition.TextPartition} (who reads
 * which bytes) → {@link io.torchfeed.partition.LineCursor} (lines as bytes) → {@link
 * io.torchfeed.partition.EdgeLoader} (fields, edges, their owners) → {@link
 * io.torchfeed.partition.Digraph} and the other targets, in compressed rows.
 *
 * <pre>{@code
 * TextPartition plan = TextPartition.plan(List.of("edges"), 2);
 * try (LineCursor lines = plan.open(0)) {
 *   while (lines.next()) {
 *     use(lines.bytes(), lines.start(), lines.length());
 *   }
 * }
 * }</pre>
 *
 * <p>Every line goes to exactly one rank, whatever its bytes: a line belongs to the rank in whose
 * range its first byte lies. Files that changed since they were planned, lines that cannot be read
 * and ranks that failed are typed exceptions that name the place; nothing is left out silently.
 *
 * <p>Plans, graphs, matrices and states are immutable and may be used by any number of threads; a
 * cursor serves one thread at a time.
 *
 * <p>Source of the rules: douban/paracel d1548dd (partition.hpp, loader.hpp, graph.hpp), with the
 * defects corrected that lose lines, digits and ids.
 *
 * <p>This package imports nothing of torchfeed: it is plain Java and knows no tensor, no dataset
 * and no process group.
 */
@NullMarked
package io.torchfeed.partition;

import org.jspecify.annotations.NullMarked;

// SPDX-License-Identifier: Apache-2.0
/**
 * Graphs and matrices in text files, divided among ranks.
 *
 * <p>Data flows in one direction: the lines of a {@link io.torchfeed.text.TextPartition} → {@link
 * io.torchfeed.graph.EdgeLoader} (fields, edges, their owners) → {@link io.torchfeed.graph.Digraph}
 * and the other graphs and matrices, in compressed rows, which a {@link
 * io.torchfeed.graph.GraphFile} stores.
 *
 * <p>Lines that cannot be parsed and ranks that fail cause typed exceptions that name the location;
 * nothing is skipped silently, unless {@link io.torchfeed.graph.ErrorPolicy} asks for it, but for
 * the comments and blank lines of edges. Edge lists and Matrix Market files may be compressed by
 * gzip or zstd, as all text files.
 *
 * <p>Graphs and matrices are immutable and may be used by any number of threads.
 *
 * <p>Source of the rules: douban/paracel d1548dd (loader.hpp, graph.hpp), with corrections of the
 * defects that lose digits and ids.
 *
 * <p>This package is plain Java, imports only {@code io.torchfeed.text} and helpers from torchfeed,
 * and knows nothing about tensors, datasets or process groups.
 */
@NullMarked
package io.torchfeed.graph;

import org.jspecify.annotations.NullMarked;

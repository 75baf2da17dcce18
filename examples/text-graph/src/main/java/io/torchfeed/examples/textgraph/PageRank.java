// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.data.source.GraphTensors;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.graph.CsrMatrix;
import io.torchfeed.graph.IdMap;
import io.torchfeed.graph.SparseMatrix;
import java.util.function.IntConsumer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * PageRank over all ranks, each of which has the edges that begin at its own vertices.
 *
 * <p>A rank multiplies the transpose of its part, [all destinations, own sources], by the values of
 * its sources; the sum over the ranks is the flow to each destination. There is one all-reduce per
 * iteration. Its last element carries the sum of the values of all sources, because the rest of the
 * total belongs to vertices without outgoing edges and flows to all vertices.
 */
final class PageRank {
  private final ProcessGroup group;
  private final double damping;

  /** The number of vertices of the whole graph. */
  private final long vertices;

  private final int destinations;

  /** For each own source, its number among the destinations, or their count if it is not one. */
  private final long[] places;

  /** The transposed part, [destinations, sources]. */
  private final Tensor flow;

  PageRank(SparseMatrix part, ProcessGroup group, double damping) {
    this.group = group;
    this.damping = damping;
    IdMap sources = part.rowIds();
    IdMap all = part.columnIds();
    destinations = all.size();
    places = new long[sources.size()];
    long missing = 0;
    for (int i = 0; i < places.length; i++) {
      int place = all.numberOf(sources.id(i));
      places[i] = place < 0 ? destinations : place;
      missing += place < 0 ? 1 : 0;
    }
    long count = destinations;
    for (long[] ofRank : group.allGatherLongs(new long[] {missing})) {
      count += ofRank[0];
    }
    vertices = count;
    flow = GraphTensors.csr(part.cells().transposed());
    shares(part.cells());
  }

  /** Divides the flow out of each source among its edges by weight. */
  private void shares(CsrMatrix cells) {
    double[] inverse = new double[cells.rows()];
    for (int row = 0; row < inverse.length; row++) {
      double sum = 0;
      for (int at = cells.start(row); at < cells.end(row); at++) {
        sum += cells.value(at);
      }
      if (!(sum > 0)) {
        throw new CommandException(
            "the sum of the weights of a vertex's edges must be above 0, got " + sum);
      }
      inverse[row] = 1 / sum;
    }
    try (PointerScope scope = new PointerScope()) {
      Tensor perSource = Tensor.create(inverse, inverse.length);
      flow.values().mul_(perSource.index_select(0, flow.col_indices()));
    }
  }

  Scores run(int iterations, IntConsumer done) {
    double[] values = new double[destinations];
    double others = 1.0 / vertices;
    try (PointerScope scope = new PointerScope()) {
      TensorOptions doubles = new TensorOptions(ScalarType.Double);
      Tensor index = Tensor.create(places, places.length);
      Tensor sources = torch.full(new long[] {places.length}, new Scalar(others), doubles);
      Tensor flows = torch.zeros(new long[] {destinations + 1L}, doubles);
      Tensor received = flows.narrow(0, 0, destinations);
      Tensor last = flows.narrow(0, destinations, 1);
      for (int iteration = 1; iteration <= iterations; iteration++) {
        try (PointerScope step = new PointerScope()) {
          received.copy_(flow.mv(sources));
          last.copy_(sources.sum());
          group.allReduce(flows, ReduceOp.SUM);
          double withoutEdges = 1 - last.item_double();
          others = (1 - damping + damping * withoutEdges) / vertices;
          last.zero_();
          flows.mul_(new Scalar(damping)).add_(new Scalar(others));
          sources.copy_(flows.index_select(0, index));
        }
        done.accept(iteration);
      }
      if (destinations > 0) {
        new DoublePointer(received.data_ptr()).get(values);
      }
    }
    return new Scores(values, others, vertices);
  }

  void close() {
    flow.close();
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.BipartiteGraph;
import io.torchfeed.graph.CsrMatrix;
import io.torchfeed.graph.DenseRows;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.graph.Edges;
import io.torchfeed.graph.ErrorPolicy;
import io.torchfeed.graph.LineParser;
import io.torchfeed.graph.LinePattern;
import io.torchfeed.graph.SparseMatrix;
import io.torchfeed.text.TextPartition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GraphTensorsTest {
  private final Path folder;

  GraphTensorsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private TextPartition plan(String text, LinePattern pattern) throws IOException {
    Path file = Files.writeString(folder.resolve("lines"), text);
    return TextPartition.plan(List.of(file.toString()), 1, pattern.blocksPerRank());
  }

  private Edges edges(String text) throws IOException {
    return EdgeLoader.over(plan(text, LinePattern.EDGES_BY_SOURCE))
        .build()
        .load(0, AllToAll.alone());
  }

  private CsrMatrix cells(String text) throws IOException {
    return SparseMatrix.of(edges(text), AllToAll.alone()).cells();
  }

  private static double[] doubles(Tensor tensor) {
    double[] values = new double[Math.toIntExact(tensor.numel())];
    if (values.length > 0) {
      new DoublePointer(tensor.data_ptr()).get(values);
    }
    return values;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aMatrixKeepsItsCells(boolean coordinates) throws IOException {
    CsrMatrix cells = cells("7,1,2\n3,5,-1\n7,9,0.1\n7,1,0.5\n9,9,4\n");
    try (Tensor sparse = coordinates ? GraphTensors.coo(cells) : GraphTensors.csr(cells)) {
      assertThat(sparse.sizes().vec().get()).containsExactly(3, 3);
      assertThat(sparse.scalar_type().intern()).isEqualTo(ScalarType.Double);
      assertThat(doubles(sparse.to_dense())).containsExactly(0, -1, 0, 2.5, 0, 0.1, 0, 0, 4);
      Tensor vector = Tensor.create(new double[] {1, 10, 100}, 3);
      assertThat(doubles(sparse.mv(vector))).containsExactly(-10, 2.5 + 0.1 * 100, 400);
    }
  }

  @Test
  void theTensorOutlivesTheGraphAndIsWritable() throws IOException {
    CsrMatrix cells = cells("1,1,2\n1,2,3\n");
    try (Tensor sparse = GraphTensors.csr(cells);
        Tensor again = GraphTensors.csr(cells)) {
      sparse.values().zero_();
      assertThat(doubles(sparse.values())).containsExactly(0, 0);
      assertThat(doubles(again.values())).containsExactly(2, 3);
      assertThat(cells.values()).containsExactly(2, 3);
    }
  }

  @Test
  void aDuplicateCellIsRefused() throws IOException {
    CsrMatrix kept =
        BipartiteGraph.of(edges("4,7,1\n4,7,2\n"), EdgeLoader.DuplicatePolicy.KEEP).edges();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> GraphTensors.csr(kept))
        .withMessageContaining("several at row 0, column 0");
    assertThatIllegalArgumentException().isThrownBy(() -> GraphTensors.coo(kept));
  }

  @Test
  void anEmptyMatrixIsAnEmptyTensor() throws IOException {
    CsrMatrix cells = cells("");
    try (Tensor csr = GraphTensors.csr(cells);
        Tensor coo = GraphTensors.coo(cells)) {
      assertThat(csr.sizes().vec().get()).containsExactly(0, 0);
      assertThat(coo.values().numel()).isZero();
    }
  }

  @Test
  void featureRowsBecomeADenseTensor() throws IOException {
    TextPartition plan = plan("a,1,2,3\nb,4,5,6.5\n", LinePattern.ROWS);
    DenseRows rows = DenseRows.read(plan, 0, LineParser.separatedBy(","), ErrorPolicy.FAIL);
    try (Tensor dense = GraphTensors.dense(rows)) {
      assertThat(dense.sizes().vec().get()).containsExactly(2, 3);
      assertThat(doubles(dense)).containsExactly(1, 2, 3, 4, 5, 6.5);
    }
  }

  @Test
  void idsKeepAll64Bits() throws IOException {
    try (Tensor ids = GraphTensors.ids(edges("18446744073709551615,1\n5,2\n").firstIds())) {
      long[] values = new long[2];
      new LongPointer(ids.data_ptr()).get(values);
      assertThat(values).containsExactly(5, -1);
    }
  }
}

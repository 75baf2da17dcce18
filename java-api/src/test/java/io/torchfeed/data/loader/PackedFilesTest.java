// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.VariableLength;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

/** Tests of {@link Batch.Step#decode} without the GPU that its decoder needs. */
class PackedFilesTest {
  private static Tensor bytes(int... values) {
    return torch.tensor(values).to(ScalarType.Byte);
  }

  @Test
  void theFilesLieBetweenTheOffsets() {
    try (PointerScope scope = new PointerScope()) {
      assertThat(PackedFiles.of(bytes(1, 2, 255, 4, 5), torch.tensor(0L, 3L, 3L, 5L)))
          .containsExactly(new byte[] {1, 2, -1}, new byte[0], new byte[] {4, 5});
      assertThat(PackedFiles.of(bytes(7), torch.tensor(0L))).isEmpty();
      assertThat(PackedFiles.of(bytes(7).narrow(0, 0, 0), torch.tensor(0L, 0L)))
          .containsExactly(new byte[0]);
    }
  }

  @Test
  void offsetsOutsideOfTheColumnAreRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor two = bytes(1, 2);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(0L, 3L)))
          .withMessage("offsets must ascend in [0, 2], got 0 followed by 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(2L, 1L)))
          .withMessage("offsets must ascend in [0, 2], got 2 followed by 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(-1L, 1L)))
          .withMessage("offsets must ascend in [0, 2], got -1 followed by 1");
    }
  }

  @Test
  void aSampleThatFitsNoArrayIsRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor many = bytes(1).expand(1L << 31); // one byte of memory
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(many, torch.tensor(0L, 1L << 31)))
          .withMessage(
              "a sample must have at most 2147483639 bytes, which fit into a Java array,"
                  + " got 2147483648");
    }
  }

  /** A dataset of encoded files of {@code index % 3} bytes. */
  private static final class Files implements Dataset {
    @Override
    public long size() {
      return 6;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.UINT8, 2));
    }

    @Override
    public List<VariableLength> variableLengths() {
      return List.of(VariableLength.packed(1));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, 100 + index);
      sample.put(1, file(index));
    }

    static byte[] file(long index) {
      byte[] file = new byte[(int) (index % 3)];
      Arrays.fill(file, (byte) index);
      return file;
    }
  }

  /** The decoder of a GPU is replaced: it returns length, seed, epoch and index of each file. */
  @Test
  void aStepDecodesTheFilesOfItsBatchByTheirIndices() {
    PackedFiles.Decoder decoder =
        (files, seed, epoch, indices) -> {
          long[] rows = new long[4 * indices.length];
          for (int i = 0; i < indices.length; i++) {
            assertThat(files.get(i)).isEqualTo(Files.file(indices[i]));
            long[] row = {files.get(i).length, seed, epoch, indices[i]};
            System.arraycopy(row, 0, rows, 4 * i, 4);
          }
          return torch.tensor(rows).view(indices.length, 4);
        };
    try (DataLoader loader =
            DataLoader.over(new Files())
                .batchSize(4)
                .seed(7)
                .sampler(ShuffledSampler.of(6, 5))
                .afterTransfer(new DecodeStep(1, 2, decoder, "cuda:0", null))
                .build();
        Batches batches = loader.epoch(3)) {
      int count = 0;
      for (Batch batch : batches) {
        long[] indices = batch.indices();
        assertThat(Rows.longs(batch.tensor(0)))
            .isEqualTo(Arrays.stream(indices).map(i -> 100 + i).toArray());
        assertThat(Rows.longs(batch.tensor(1)))
            .isEqualTo(
                Arrays.stream(indices).flatMap(i -> LongStream.of(i % 3, 7, 3, i)).toArray());
        assertThat(batch.tensor(2).numel()).isEqualTo(indices.length + 1);
        count += indices.length;
      }
      assertThat(count).isEqualTo(6);
    }
  }

  @Test
  void otherColumnsAreRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor offsets = torch.tensor(0L, 1L);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(offsets, offsets))
          .withMessageContaining("a packed column of uint8 in host memory and its int64 offsets");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(bytes(1), bytes(0, 1)))
          .withMessageContaining("got Byte [1] and Byte [2]");
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ten epochs need the memory of the second. */
@Timeout(120)
class ParquetMemoryTest {
  private static final int EPOCHS = 10;

  @Test
  void laterEpochsOfAStreamReadIntoTheMemoryOfTheFirstOnes() {
    ParquetStream stream = Clicks.rows(Clicks.files()).stream(1).shuffled(40, 7);
    List<Long> allocated = new ArrayList<>();
    List<Long> pointers = new ArrayList<>();
    try (DataLoader loader = Clicks.loader(stream, Part.whole(), 1)) {
      for (int epoch = 0; epoch < EPOCHS; epoch++) {
        read(loader, epoch);
        allocated.add(stream.memory().allocated());
        pointers.add(Pointer.totalCount());
      }
    }
    assertThat(allocated.get(1)).isPositive();
    assertThat(allocated.subList(2, EPOCHS)).containsOnly(allocated.get(1));
    requireNoneIsLeft(pointers);
  }

  @Test
  void laterEpochsOfStoredRowsHaveTheNativeObjectsOfTheFirstOnes(@TempDir Path folder) {
    List<Long> pointers = new ArrayList<>();
    try (FileDataset data = Clicks.rows(Clicks.files()).store(folder.resolve("rows")).dataset();
        DataLoader loader =
            DataLoader.over(data)
                .batchSize(16)
                .workers(1)
                .sampler(ShuffledSampler.of(data.size(), 1))
                .build()) {
      for (int epoch = 0; epoch < EPOCHS; epoch++) {
        read(loader, epoch);
        pointers.add(Pointer.totalCount());
      }
    }
    requireNoneIsLeft(pointers);
  }

  /** A loader may add an object that it uses again; one left by each epoch makes more. */
  private static void requireNoneIsLeft(List<Long> pointers) {
    assertThat(pointers.get(EPOCHS - 1)).isLessThan(pointers.get(1) + EPOCHS / 2);
  }

  private static void read(DataLoader loader, long epoch) {
    try (PointerScope scope = new PointerScope()) { // of the views by which the test looks at rows
      assertThat(Clicks.flat(Clicks.ids(loader.epoch(epoch)))).hasSize(Clicks.ROWS);
    }
  }

  @Test
  void memoryIsUsedAgainOnlyAfterItWasGivenBack() {
    ReadMemory memory = new ReadMemory();
    ByteBuffer small = memory.take(5_000);
    ByteBuffer large = memory.take(9_000);
    long allocated = memory.allocated();
    assertThat(large).isNotSameAs(small);

    memory.give(List.of(small.position(7), large));

    assertThat(memory.take(4_000)).isSameAs(small); // the smallest that has room
    assertThat(small.position()).isZero();
    assertThat(memory.take(9_100)).isSameAs(large); // row groups differ a little
    assertThat(memory.allocated()).isEqualTo(allocated);
  }

  @Test
  void memoryThatIsTooSmallIsReplaced() {
    ReadMemory memory = new ReadMemory();
    ByteBuffer one = memory.take(5_000);
    memory.give(List.of(one));
    ByteBuffer larger = memory.take(50_000);
    long allocated = memory.allocated();
    memory.give(List.of(larger));

    assertThat(memory.take(5_000)).isSameAs(larger);
    memory.take(5_000);
    assertThat(memory.allocated()).isGreaterThan(allocated);
  }
}

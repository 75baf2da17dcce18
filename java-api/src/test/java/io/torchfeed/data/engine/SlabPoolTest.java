// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

class SlabPoolTest {
  private final SlabPool pool =
      new SlabPool(BatchLayout.of(List.of(RowSpec.of(DType.UINT8)), List.of(), null), 4);

  @Test
  void theMostRecentlyUsedSlabIsTakenFirst() {
    try (Slab first = pool.allocate();
        Slab last = pool.allocate()) {
      pool.giveBack(first);
      pool.giveBack(last);
      assertThat(pool.poll()).isSameAs(last);
      assertThat(pool.poll()).isSameAs(first);
      assertThat(pool.poll()).isNull();
    }
  }

  @Test
  void aReferencedSlabIsAbandonedToItsView() {
    Slab slab = pool.allocate();
    try (Tensor view = slab.view(0, 4)) {
      pool.giveBack(slab);
      assertThat(pool.poll()).isNull();
      assertThatIllegalStateException().isThrownBy(slab::isFree);
      assertThat(view.numel()).isEqualTo(4);
    }
  }

  @Test
  void slabsForCopiesOfTheConsumerAreUsedOnce() {
    pool.pinFor("none", true);
    Slab slab = Slab.allocate(List.of(RowSpec.of(DType.UINT8)), 4);
    pool.giveBack(slab);
    assertThat(pool.poll()).isNull();
    assertThatIllegalStateException().isThrownBy(slab::isFree);
  }

  @Test
  void clearingClosesTheFreeSlabs() {
    Slab slab = pool.allocate();
    pool.giveBack(slab);
    pool.close();
    assertThat(pool.poll()).isNull();
    assertThatIllegalStateException().isThrownBy(slab::isFree);
  }
}

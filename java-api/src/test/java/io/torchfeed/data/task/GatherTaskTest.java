// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.WorkerHooks;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests of cancelling a batch that native code gathers. Row 0 is zeros, row 1 is ones. */
class GatherTaskTest {
  private static final int WIDTH = 1 << 20;
  private static final int BATCH = 32; // 128 MB: a cancellation comes before the end

  private final BatchLayout layout =
      BatchLayout.of(List.of(RowSpec.of(DType.FLOAT32, WIDTH)), List.of(), null);

  private final Worker worker =
      Worker.ofConsumer(
          new TaskOptions(
              layout,
              FailurePolicy.report(),
              0,
              new LoaderMeter(1, false),
              new WorkerHooks() {},
              new AtomicInteger()));

  @AfterEach
  void close() {
    worker.stop();
  }

  private static NativeHandle<RowSet> rows() {
    return NativeHandle.create(
        "rows",
        () ->
            RowSet.of_tensors(
                new TensorVector(
                    torch.stack(new TensorVector(torch.zeros(WIDTH), torch.ones(WIDTH))))));
  }

  private static GatherTask task(NativeHandle<RowSet> rows, long row) {
    IndexRequest request = new IndexRequest(BATCH);
    Arrays.fill(request.indices, row);
    request.size = BATCH;
    return new GatherTask(rows, request);
  }

  private void fill(GatherTask task, Slab slab) {
    worker.fill(task, () -> slab);
  }

  private static float row(Slab slab, int row) {
    try (Tensor view = slab.view(0, BATCH)) {
      return view.select(0, row).select(0, WIDTH - 1).item_float();
    }
  }

  @Test
  void cancellingStopsTheGatherAndTheNextBatchIsWhole() throws Exception {
    try (NativeHandle<RowSet> rows = rows();
        Slab slab = Slab.allocate(layout.slabColumns(), BATCH)) {
      boolean stopped = false;
      for (int attempt = 0; attempt < 100 && !stopped; attempt++) { // depends on scheduling
        fill(task(rows, 0), slab);
        assertThat(row(slab, BATCH - 1)).isZero();
        GatherTask cancelled = task(rows, 1);
        Thread filling = new Thread(() -> fill(cancelled, slab));
        filling.start();
        LockSupport.parkNanos(attempt * 100_000L);
        cancelled.cancel();
        filling.join();
        stopped = row(slab, 0) == 1 && row(slab, BATCH - 1) == 0;
      }
      assertThat(stopped).isTrue();
      GatherTask next = task(rows, 1);
      fill(next, slab);
      assertThat(next.error()).isNull();
      assertThat(row(slab, BATCH - 1)).isOne();
    }
  }

  @Test
  void aTaskCancelledBeforehandGathersNothing() {
    try (NativeHandle<RowSet> rows = rows();
        Slab slab = Slab.allocate(layout.slabColumns(), BATCH)) {
      fill(task(rows, 0), slab);
      GatherTask cancelled = task(rows, 1);
      cancelled.cancel();
      cancelled.cancel();
      fill(cancelled, slab);
      assertThat(row(slab, 0)).isZero();
    }
  }
}

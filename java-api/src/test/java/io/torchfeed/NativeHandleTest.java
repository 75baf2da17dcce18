// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.torchfeed;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;

class NativeHandleTest {
  private static NativeHandle<IndexCursor> cursor() {
    return NativeHandle.create("cursor", () -> IndexCursor.sequential(10));
  }

  @Test
  void aRunningCallKeepsTheObjectAliveDuringClose() throws Exception {
    int threads = 4;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (int round = 0; round < 5_000; round++) {
        NativeHandle<IndexCursor> handle = cursor();
        CyclicBarrier start = new CyclicBarrier(threads);
        List<Future<?>> ends = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
          boolean closes = thread == round % threads;
          ends.add(
              pool.submit(
                  () -> {
                    start.await();
                    if (closes) {
                      handle.close();
                      return null;
                    }
                    try {
                      for (int call = 0; call < 20; call++) {
                        assertThat(handle.call(IndexCursor::remaining)).isEqualTo(10);
                      }
                    } catch (IllegalStateException e) {
                      assertThat(e).hasMessage("cursor is closed");
                    }
                    return null;
                  }));
        }
        for (Future<?> end : ends) {
          end.get();
        }
        assertThat(handle.isClosed()).isTrue();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aChildKeepsItsParentAlive() {
    NativeHandle<IndexCursor> handle = cursor();
    long before = torchfeed.live_objects();
    handle.acquire();
    handle.close();
    assertThat(torchfeed.live_objects()).isEqualTo(before);
    assertThatIllegalStateException().isThrownBy(handle::acquire).withMessage("cursor is closed");
    handle.release();
    assertThat(torchfeed.live_objects()).isEqualTo(before - 1);
    handle.close();
  }

  @Test
  void aPointerScopeOfTheCallerDoesNotFreeTheObject() {
    NativeHandle<IndexCursor> handle;
    try (PointerScope scope = new PointerScope()) {
      handle = cursor();
    }
    assertThat(handle.call(IndexCursor::remaining)).isEqualTo(10);
    handle.close();
  }
}

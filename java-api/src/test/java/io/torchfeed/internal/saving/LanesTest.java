// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of tasks on several threads. */
@Timeout(20)
class LanesTest {
  private static final String NAME = "torchfeed-lane";

  @ParameterizedTest
  @CsvSource({"1,0", "1,3", "2,1", "2,7", "9,4"})
  void eachTaskRunsOnce(int threads, int tasks) {
    AtomicIntegerArray runs = new AtomicIntegerArray(tasks);
    Lanes.run(NAME, threads, tasks, runs::incrementAndGet);
    for (int i = 0; i < tasks; i++) {
      assertThat(runs.get(i)).isEqualTo(1);
    }
  }

  @Test
  void tasksRunAtTheSameTime() {
    CyclicBarrier all = new CyclicBarrier(3);
    Set<String> names = ConcurrentHashMap.newKeySet();
    Lanes.run(
        NAME,
        3,
        3,
        task -> {
          names.add(Thread.currentThread().getName());
          await(all);
        });
    assertThat(names).containsExactlyInAnyOrder(NAME, Thread.currentThread().getName());
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void theFirstFailureInTheirOrderIsThrownOnceAllHaveEnded() {
    CyclicBarrier both = new CyclicBarrier(2);
    AtomicInteger ended = new AtomicInteger();
    assertThatIllegalStateException()
        .isThrownBy(
            () ->
                Lanes.run(
                    NAME,
                    2,
                    100,
                    task -> {
                      await(both);
                      ended.incrementAndGet();
                      throw new IllegalStateException("task " + task);
                    }))
        .withMessage("task 0");
    assertThat(ended).hasValue(2); // none began after these
    assertThatExceptionOfType(OutOfMemoryError.class)
        .isThrownBy(
            () ->
                Lanes.run(
                    NAME,
                    2,
                    1,
                    task -> {
                      throw new OutOfMemoryError("for a test");
                    }));
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.AllocationFaults;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.logging.Logger;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of passes in which an allocation fails, each in turn, of the reader and of the workers, and
 * up to a dozen after it.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FullHeapTest {
  private static final long PATIENCE_SECONDS = 30;
  private static final Logger LOGGER = Logger.getLogger("io.torchfeed.data");

  /** The same classes for all passes: the JVM compiles them once. */
  private static final AllocationFaults CLASSES =
      new AllocationFaults(
          List.of("io.torchfeed.data."),
          List.of(
              "io.torchfeed.data.loader.Batches",
              "io.torchfeed.data.engine.",
              "io.torchfeed.data.pass.",
              "io.torchfeed.data.task."));

  private final Function<String, String> pass;
  private final Consumer<Consumer<Boolean>> onPhase;

  @SuppressWarnings("unchecked")
  FullHeapTest() throws ReflectiveOperationException {
    Class<?> type = CLASSES.loadClass("io.torchfeed.data.FullHeapPass");
    pass = (Function<String, String>) type.getConstructor().newInstance();
    onPhase =
        next -> {
          try {
            type.getMethod("onPhase", Consumer.class).invoke(null, next);
          } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
          }
        };
  }

  @BeforeEach
  void begin() {
    LOGGER.setUseParentHandlers(false); // dead workers are logged
  }

  @AfterEach
  void end() {
    LOGGER.setUseParentHandlers(true);
    AllocationFaults.set(place -> {});
  }

  private static String ofThread(String place) {
    boolean isWorker = Thread.currentThread().getName().startsWith("torchfeed-worker-");
    return (isWorker ? "worker " : "reader ") + place;
  }

  /** Returns the outcome of a pass, within which the hook is set. */
  private String outcome(String kind, AllocationFaults.Hook hook) throws InterruptedException {
    onPhase.accept(begun -> AllocationFaults.set(begun ? hook : place -> {}));
    CompletableFuture<String> outcome = new CompletableFuture<>();
    Thread reader =
        new Thread(
            () -> {
              try {
                outcome.complete(pass.apply(kind));
              } catch (Throwable e) {
                outcome.completeExceptionally(e);
              }
            });
    reader.setDaemon(true);
    reader.start();
    try {
      return outcome.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      return "the reader waits in " + List.of(reader.getStackTrace());
    } catch (ExecutionException e) {
      return "the pass failed with " + e.getCause();
    }
  }

  private Set<String> places(String kind) throws InterruptedException {
    Set<String> places = Collections.synchronizedSet(new LinkedHashSet<>());
    for (int i = 0; i < 3; i++) {
      assertThat(outcome(kind, place -> places.add(ofThread(place)))).isEmpty();
    }
    return places;
  }

  /**
   * Returns a hook that fails at a place and then for some more allocations, by whichever thread:
   * also where an exception is created, and where a worker is replaced.
   */
  private static AllocationFaults.Hook failing(String wanted, int time, int allocations) {
    AtomicInteger before = new AtomicInteger(time);
    AtomicInteger left = new AtomicInteger();
    return place -> {
      if (ofThread(place).equals(wanted) && before.decrementAndGet() == 0) {
        left.set(allocations);
      }
      if (left.getAndUpdate(n -> Math.max(0, n - 1)) > 0) {
        throw new OutOfMemoryError("at " + ofThread(place) + " with " + wanted);
      }
    };
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "samples 0",
        "samples 1",
        "samples 2",
        "samples 2 unordered",
        "samples 1 step",
        "tensors 1 gathered",
        "tensors 0",
        "tensors 1",
        "tensors 2 unordered",
        "stream 0",
        "stream 2",
        "samples 0 device",
        "samples 2 device",
        "tensors 1 device"
      })
  void aBatchFailsAndAllOthersComeWhicheverAllocationFails(String kind) throws Exception {
    if (kind.contains("device")) {
      FakeDevice.load();
    }
    long pointers = Pointer.totalCount();
    List<String> wrong = new ArrayList<>();
    for (String place : places(kind)) {
      for (int allocations : new int[] {1, 2, 8, 13}) {
        String outcome = outcome(kind, failing(place, allocations % 2 + 1, allocations));
        if (!outcome.isEmpty()) {
          wrong.add(place + ", " + allocations + " times: " + outcome);
        }
      }
    }
    assertThat(wrong).isEmpty();
    awaitCollected(pointers);
  }

  /** Waits for the tensors that there was no memory to deliver: the collector frees them. */
  private static void awaitCollected(long pointers) throws InterruptedException {
    while (Pointer.totalCount() > pointers) {
      System.gc();
      Thread.sleep(10);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.MisbehavingDataset.loader;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class WorkerHooksTest extends StalledWorkersCheck {
  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void hooksRunInEachWorker(int workers) {
    List<String> events = new ArrayList<>();
    WorkerHooks hooks =
        new WorkerHooks() {
          @Override
          public void start(int worker) {
            add("start " + worker);
          }

          @Override
          public void stop(int worker) {
            add("stop " + worker);
          }

          private void add(String event) {
            synchronized (events) {
              events.add(event);
            }
          }
        };
    try (DataLoader loader = loader(workers, sample -> {}).workerHooks(hooks).build();
        Batches batches = loader.epoch(0)) {
      while (batches.hasNext()) {
        batches.next();
      }
    }
    List<String> expected =
        workers == 0
            ? List.of("start 0", "stop 0")
            : List.of("start 0", "stop 0", "start 1", "stop 1");
    assertThat(events).containsExactlyInAnyOrderElementsOf(expected);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aFailingHookIsReportedWithTheFirstBatch(int workers) {
    WorkerHooks hooks =
        new WorkerHooks() {
          @Override
          public void start(int worker) throws IOException {
            throw new IOException("no connection");
          }
        };
    try (DataLoader loader = loader(workers, sample -> {}).workerHooks(hooks).build();
        Batches batches = loader.epoch(0)) {
      for (int batch = 0; batch < 4; batch++) {
        assertThatIllegalStateException()
            .isThrownBy(batches::next)
            .withMessageContaining("batch " + batch + " of epoch 0")
            .withMessageContaining("no connection");
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.List;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the events of groups and reducers in a flight recording. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GroupTraceTest {
  private static final int NUMBERS = 300;

  private final Path folder;

  GroupTraceTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private List<RecordedEvent> recorded(RankThreads.Body body) throws Exception {
    try (Recording recording = new Recording(settings())) {
      recording.start();
      RankThreads.run(2, body);
      recording.stop();
      Path file = folder.resolve("group.jfr");
      recording.dump(file);
      return RecordingFile.readAllEvents(file);
    }
  }

  private static Configuration settings() throws IOException, ParseException {
    try (Reader settings =
        new InputStreamReader(
            requireNonNull(DataLoader.class.getResourceAsStream("torchfeed.jfc")),
            StandardCharsets.UTF_8)) {
      return Configuration.create(settings);
    }
  }

  private static List<RecordedEvent> of(
      List<RecordedEvent> events, String type, String operation, int rank) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("io.torchfeed." + type))
        .filter(event -> event.getString("operation").equals(operation))
        .filter(event -> event.getInt("rank") == rank)
        .toList();
  }

  @Test
  void aRecordingContainsEveryOperationOfEachRank() throws Exception {
    List<RecordedEvent> events =
        recorded(
            group -> {
              try (PointerScope scope = new PointerScope()) {
                Tensor numbers = Tensor.create(new long[NUMBERS], NUMBERS);
                group.allReduce(numbers, ReduceOp.SUM);
                group.async().broadcast(numbers, 1).await();
                assertThatIllegalArgumentException().isThrownBy(() -> group.broadcast(numbers, 2));
                group.barrier();
              }
            });
    for (int rank = 0; rank < 2; rank++) {
      List<RecordedEvent> reductions = of(events, "Collective", "all-reduce", rank);
      assertThat(reductions).hasSize(1);
      assertThat(reductions.get(0).getLong("bytes")).isEqualTo(8L * NUMBERS);
      assertThat(reductions.get(0).getInt("ranks")).isEqualTo(2);
      assertThat(reductions.get(0).getDuration().isNegative()).isFalse();
      assertThat(of(events, "Collective", "broadcast", rank))
          .extracting(event -> event.getBoolean("failed"))
          .containsExactlyInAnyOrder(false, true);
      assertThat(of(events, "Collective", "barrier", rank)).isNotEmpty();
    }
  }

  @Test
  void aRecordingContainsTheBytesOfReductions() throws Exception {
    List<RecordedEvent> events =
        recorded(
            group -> {
              try (PointerScope scope = new PointerScope();
                  DistributedDataParallel model =
                      DistributedDataParallel.wrap(new LinearImpl(3, 2), group)) {
                Tensor row = Tensor.create(new float[] {1, 2, 3}, 1, 3);
                LinearImpl net = (LinearImpl) model.module();
                model.backward(net.forward(row).sum());
                try (DistributedDataParallel.NoSync accumulating = model.noSync()) {
                  model.backward(net.forward(row).sum());
                }
              }
            });
    for (int rank = 0; rank < 2; rank++) {
      assertThat(of(events, "Reduction", "backward", rank))
          .extracting(event -> event.getLong("bytes") > 0)
          .containsExactlyInAnyOrder(true, false);
    }
  }
}

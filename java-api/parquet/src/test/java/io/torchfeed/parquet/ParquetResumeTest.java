// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.sun.net.httpserver.HttpServer;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.parquet.ParquetException.Problem;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.HttpSource;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** States of streams: any number of ranks continues at any batch, wherever the files are. */
@Timeout(120)
class ParquetResumeTest {
  private static final SampleWriter NOTHING =
      (SampleWriter)
          Proxy.newProxyInstance(
              SampleWriter.class.getClassLoader(),
              new Class<?>[] {SampleWriter.class},
              (proxy, method, arguments) -> {
                throw new AssertionError(method);
              });

  @ParameterizedTest
  @CsvSource({"1,2", "2,1", "2,3", "3,4", "4,1", "4,2"})
  void anyNumberOfRanksContinuesAtAnyBatch(int before, int after) {
    ParquetStream stream = ParquetStreamTest.stream();
    for (int taken = 0; taken < 13; taken++) {
      List<Long> seen = new ArrayList<>();
      List<LoaderState> states = new ArrayList<>();
      for (int rank = 0; rank < before; rank++) {
        try (DataLoader loader = Clicks.loader(stream, Part.rank(rank).of(before), rank);
            Batches pass = loader.epoch(2)) {
          for (int i = 0; i < taken + rank && pass.hasNext(); i++) {
            seen.addAll(Clicks.ids(pass.next()));
          }
          states.add(LoaderState.fromJson(pass.state().toJson()));
        }
      }
      for (int rank = 0; rank < after; rank++) {
        try (DataLoader loader =
            Clicks.loader(ParquetStreamTest.stream(), Part.rank(rank).of(after), rank)) {
          seen.addAll(Clicks.flat(Clicks.ids(loader.resume(states))));
        }
      }
      assertThat(ParquetStreamTest.sorted(seen))
          .as("after %d batches", taken)
          .isEqualTo(Clicks.all());
    }
  }

  @Test
  void aPassContinuesWithTheBatchesThatItWouldHaveHad() {
    List<List<Long>> all = ParquetStreamTest.epoch(ParquetStreamTest.stream(), 4, 0);
    try (DataLoader loader = Clicks.loader(ParquetStreamTest.stream(), Part.whole(), 2)) {
      for (int taken = 0; taken <= all.size(); taken++) {
        try (Batches pass = loader.epoch(4)) {
          for (int i = 0; i < taken; i++) {
            pass.next();
          }
          if (taken < all.size() || !pass.hasNext()) {
            LoaderState state = pass.state();
            assertThat(state.finished() ? List.of() : Clicks.ids(loader.resume(state)))
                .isEqualTo(all.subList(taken, all.size()));
          }
        }
      }
    }
  }

  @Test
  void aShardReadsAtMostOneRowGroupAgain() {
    List<CountedSource> sources = Clicks.sources("1");
    ParquetStream stream =
        Clicks.rows(ParquetFiles.of(sources)).stream(1).shuffled(Clicks.MAX_GROUP, 7);
    sources.forEach(CountedSource::forget);
    ParquetStreamTest.epoch(stream, 0, 0);
    double whole = Clicks.columnBytes(sources).stream().mapToLong(Long::longValue).sum();
    for (int taken = 0; taken < 60; taken += 7) {
      try (DataLoader loader = Clicks.loader(stream, Part.whole(), 0);
          Batches pass = loader.epoch(0)) {
        for (int i = 0; i < taken; i++) {
          pass.next();
        }
        sources.forEach(CountedSource::forget);
        Clicks.ids(loader.resume(pass.state()));
      }
      double rest = Clicks.columnBytes(sources).stream().mapToLong(Long::longValue).sum();
      double left = 1 - taken * 16.0 / Clicks.ROWS;
      assertThat(rest / whole)
          .as("from batch %d", taken)
          .isBetween(left - 0.01, left + 1.2 * Clicks.MAX_GROUP / Clicks.ROWS);
    }
  }

  @Test
  void theOrderIsThatOfTheFilesWhereverTheyAre() throws IOException {
    List<List<Long>> expected = ParquetStreamTest.epoch(ParquetStreamTest.stream(), 1, 0);
    HttpServer server = server();
    List<ByteSource> remote = new ArrayList<>();
    try {
      String address = "http://127.0.0.1:%d/".formatted(server.getAddress().getPort());
      for (Path path : Clicks.paths()) {
        remote.add(HttpSource.of(URI.create(address + path.getFileName())));
      }
      for (List<? extends ByteSource> sources : List.of(Clicks.sources("1"), remote)) {
        ParquetStream stream =
            Clicks.rows(ParquetFiles.of(sources)).stream(ParquetStreamTest.SHARDS).shuffled(40, 7);
        assertThat(stream.parameters()).isEqualTo(ParquetStreamTest.stream().parameters());
        try (DataLoader loader = Clicks.loader(stream, Part.whole(), 2);
            DataLoader other = Clicks.loader(ParquetStreamTest.stream(), Part.whole(), 2);
            Batches pass = loader.epoch(1)) {
          List<List<Long>> seen = new ArrayList<>();
          for (int i = 0; i < 20; i++) {
            seen.add(Clicks.ids(pass.next()));
          }
          seen.addAll(Clicks.ids(other.resume(pass.state()))); // from disk
          assertThat(seen).isEqualTo(expected);
        }
      }
    } finally {
      for (ByteSource source : remote) {
        source.close();
      }
      server.stop(0);
    }
  }

  /** Serves ranges of the files. */
  private static HttpServer server() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    for (Path path : Clicks.paths()) {
      byte[] content = Files.readAllBytes(path);
      server.createContext(
          "/" + path.getFileName(),
          exchange -> {
            String[] range =
                String.valueOf(exchange.getRequestHeaders().getFirst("Range"))
                    .replace("bytes=", "")
                    .split("-", -1);
            int from = Integer.parseInt(range[0]);
            int to = Math.min(Integer.parseInt(range[1]) + 1, content.length);
            exchange
                .getResponseHeaders()
                .add("Content-Range", "bytes %d-%d/%d".formatted(from, to - 1, content.length));
            exchange.getResponseHeaders().add("ETag", "\"v1\"");
            exchange.sendResponseHeaders(206, to - from);
            try (OutputStream body = exchange.getResponseBody()) {
              body.write(content, from, to - from);
            }
          });
    }
    server.start();
    return server;
  }

  @Test
  void aStateOfOtherRowsIsRefused() {
    LoaderState state;
    try (DataLoader loader = Clicks.loader(ParquetStreamTest.stream(), Part.whole(), 0);
        Batches pass = loader.epoch(0)) {
      pass.next();
      state = pass.state();
    }
    ParquetRows one = Clicks.rows(ParquetFiles.of(Clicks.paths().get(0)));
    for (ParquetStream other :
        List.of(
            ParquetStreamTest.stream().shuffled(41, 7),
            ParquetStreamTest.stream().shuffled(40, 8),
            Clicks.rows(Clicks.files()).stream(ParquetStreamTest.SHARDS),
            one.stream(ParquetStreamTest.SHARDS).shuffled(40, 7),
            Clicks.rows(Clicks.files()).stream(ParquetStreamTest.SHARDS + 1).shuffled(40, 7))) {
      try (DataLoader loader = Clicks.loader(other, Part.whole(), 0)) {
        assertThatExceptionOfType(ResumeMismatchException.class)
            .isThrownBy(() -> loader.resume(state));
      }
    }
  }

  @Test
  void windowsOfAsManyBatchesAsOthersHaveOtherParameters() {
    ParquetStream stream = Clicks.rows(Clicks.files()).stream(1);
    assertThat(stream.shuffled(1 << 14, 7).parameters())
        .isNotEqualTo(stream.shuffled(1 << 15, 7).parameters());
  }

  @Test
  void theEndOfARowGroupIsTheStartOfTheNext() {
    ParquetStream stream = Clicks.rows(Clicks.files()).stream(1);
    try (DataLoader loader = DataLoader.over(stream).batchSize(Clicks.MAX_GROUP).build();
        Batches pass = loader.epoch(0)) {
      pass.next();
      LoaderState.StreamState state = (LoaderState.StreamState) pass.state();
      assertThat(state.positions().get(0).position()).isEqualTo("1:0");
    }
  }

  @Test
  void positionsThatNoStateHasAreRefused() throws Exception {
    ParquetStream stream = ParquetStreamTest.stream();
    for (String text : List.of("", "1", "0:-1", "99999:0", "0:0:1", "x:1:2:3")) {
      assertThatIllegalArgumentException().isThrownBy(() -> stream.open(0, 0, text));
    }
    String group;
    try (StreamDataset.SampleStream opened = stream.open(0, 0, null)) {
      group = opened.position().replace(":0", "");
    }
    for (String text : List.of(group + ":7", group + ":0:5:39", group + ":100:5:40")) {
      try (StreamDataset.SampleStream opened = stream.open(0, 0, text)) {
        assertThatExceptionOfType(ParquetException.class)
            .isThrownBy(() -> ((GroupStream) opened).nextRows(NOTHING, 1))
            .withMessageContaining("is another one than in the saved position")
            .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
        assertThat(opened.position()).isEqualTo(text);
      }
    }
  }
}

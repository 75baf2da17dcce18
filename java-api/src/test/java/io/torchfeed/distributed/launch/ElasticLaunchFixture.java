// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A launch of {@link ComingRank}s by a thread of this JVM, and its events. */
abstract class ElasticLaunchFixture {
  final LinkedBlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();
  final List<CoordinatorEvent> seen = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  Path folder = Path.of("");

  @BeforeEach
  void nameTheFolder(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void noProcessIsLeft() {
    threads.shutdownNow();
    assertThat(ProcessHandle.current().children().filter(ElasticLaunchFixture::isRank)).isEmpty();
  }

  private static boolean isRank(ProcessHandle process) {
    return process.isAlive()
        && process.info().commandLine().orElse("").contains(ComingRank.class.getName());
  }

  /** Signs of life may be late on a busy machine. */
  static CoordinatorOptions ranks(int min, int max) {
    return CoordinatorOptions.of(min, max).withSilence(Duration.ofSeconds(30));
  }

  LauncherBuilder launcher(String... behaviors) {
    return silent(behaviors).events(events::add);
  }

  /** Returns a launcher whose events are not noted. */
  LauncherBuilder silent(String... behaviors) {
    return Launcher.builder()
        .mainClass(ComingRank.class)
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .jvmOptions("-Xshare:auto", "-Xmx64m")
        .arguments(folder.toString())
        .arguments(behaviors)
        .oversubscribe(true);
  }

  Future<?> start(LauncherBuilder builder) {
    Launcher launcher = builder.build();
    return threads.submit(
        () -> {
          launcher.run();
          return null;
        });
  }

  /** Waits until a generation has ranks of these names, in any order. */
  void awaitRanks(String... names) throws InterruptedException {
    while (true) {
      CoordinatorEvent event = take();
      if (event.kind() == CoordinatorEvent.Kind.FORMED
          && event.processes().size() == names.length
          && event.processes().containsAll(List.of(names))) {
        return;
      }
    }
  }

  void awaitEvent(CoordinatorEvent.Kind kind) throws InterruptedException {
    while (take().kind() != kind) {}
  }

  private CoordinatorEvent take() throws InterruptedException {
    CoordinatorEvent event = events.take();
    seen.add(event);
    return event;
  }

  /** Waits until a process is in a generation, and returns its id. */
  long pid(int generation, String name) throws IOException, InterruptedException {
    Path note = folder.resolve(generation + "-" + name);
    while (!Files.exists(note)) {
      Thread.sleep(5);
    }
    return Long.parseLong(Files.readString(note));
  }

  static void signal(String signal, long pid) throws IOException, InterruptedException {
    String command = "kill -" + signal + " " + pid;
    assertThat(new ProcessBuilder("sh", "-c", command).start().waitFor()).isZero();
  }

  void complete() throws IOException {
    Files.createFile(folder.resolve(ComingRank.COMPLETE));
  }

  /** Returns the names of the processes of all events of a kind; the launch has ended. */
  List<String> processes(CoordinatorEvent.Kind kind) {
    events.drainTo(seen);
    return seen.stream()
        .filter(event -> event.kind() == kind)
        .flatMap(event -> event.processes().stream())
        .toList();
  }

  static LaunchException failure(Future<?> launch) throws InterruptedException {
    try {
      launch.get();
      throw new AssertionError("the launch was completed");
    } catch (ExecutionException e) {
      if (e.getCause() instanceof LaunchException failure) {
        return failure;
      }
      throw new AssertionError(e.getCause());
    }
  }
}

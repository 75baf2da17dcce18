// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.torchfeed;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;

/**
 * A JVM with the class path of the test, or another program, with its output in a file; killed when
 * closed.
 */
public final class TestJvm implements AutoCloseable {
  private static final String FIND = "org.bytedeco.javacpp.findlibraries";
  private static final String FOLDERS = "java.library.path";

  /** Written by archive-classes; a JVM of another version loads the jars instead. */
  public static final Path ARCHIVE =
      Path.of(System.getProperty("torchfeed.test.archive", "target/presets.jsa")).toAbsolutePath();

  /** Only code that is called often is compiled: the rest of a short life is faster without. */
  private static final List<String> FEW_COMPILATIONS =
      List.of(
          "-XX:Tier3InvocationThreshold=1000",
          "-XX:Tier3MinInvocationThreshold=500",
          "-XX:Tier3CompileThreshold=5000",
          "-XX:Tier3BackEdgeThreshold=120000");

  /**
   * Options of a JVM that lives for seconds, with the class path of this one: they halve the time
   * until a rank is connected.
   */
  public static final List<String> SHORT_LIVED = shortLived();

  private static final long PATIENCE_SECONDS = 120;
  private static final String LAST = "\uffff";

  private final Process process;
  private final Path output;

  private TestJvm(Process process, Path output) {
    this.process = process;
    this.output = output;
  }

  /**
   * JavaCPP looks for each library of CUDA, too, under dozens of names in all of the class path,
   * which takes a third of the time until libtorch is loaded. The options name the folders where
   * this JVM found its libraries; a JVM started with them, such as a launcher, passes them on.
   */
  private static List<String> shortLived() {
    List<String> options = new ArrayList<>();
    options.add("--enable-native-access=ALL-UNNAMED");
    options.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    options.addAll(FEW_COMPILATIONS);
    if (Files.exists(ARCHIVE)) {
      options.addAll(List.of("-XX:SharedArchiveFile=" + ARCHIVE, "-Xlog:cds=off"));
    }
    options.addAll(List.of("-cp", presetsFirst(System.getProperty("java.class.path"))));
    String folders = folders();
    if (!folders.isEmpty()) {
      options.addAll(List.of("-D" + FIND + "=false", "-D" + FOLDERS + "=" + folders));
    }
    return List.copyOf(options);
  }

  /** An archive of classes serves class paths that begin with its own, which is sorted. */
  private static String presetsFirst(String classPath) {
    return Stream.of(classPath.split(File.pathSeparator, -1))
        .sorted(Comparator.comparing(part -> isArchived(part) ? part : LAST)) // else as it was
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static boolean isArchived(String part) {
    return part.contains("/org/bytedeco/") && !part.contains("/cuda/");
  }

  /**
   * Returns the folders of the libraries, or an empty string if a library in one folder may need a
   * library in another that only JavaCPP finds.
   */
  private static String folders() {
    if ("false".equals(System.getProperty(FIND))) {
      return System.getProperty(FOLDERS);
    }
    Loader.load(torchfeed.class);
    Set<String> folders =
        Loader.getLoadedLibraries().values().stream()
            .map(library -> library.substring(0, library.lastIndexOf(File.separatorChar)))
            .collect(Collectors.toCollection(TreeSet::new));
    boolean isWithoutCuda = folders.stream().allMatch(folder -> folder.matches(".*/linux-[^/-]*"));
    return isWithoutCuda ? String.join(File.pathSeparator, folders) : "";
  }

  public static TestJvm start(
      Path folder, Map<String, String> variables, List<String> options, String... command)
      throws IOException {
    return launch(folder, variables, command(options, command));
  }

  /** Returns the command of a JVM with the options of {@link #SHORT_LIVED}, and more options. */
  public static List<String> command(List<String> options, String... program) {
    List<String> all = new ArrayList<>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    all.addAll(SHORT_LIVED);
    all.addAll(options);
    all.addAll(List.of(program));
    return all;
  }

  /** Returns what goes before a command for it to run after another, as a limit, in its shell. */
  public static List<String> after(String command) {
    return List.of("sh", "-c", command + " && exec \"$@\"", "sh");
  }

  public static TestJvm launch(Path folder, Map<String, String> variables, List<String> command)
      throws IOException {
    Path output = Files.createTempFile(folder, "output", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(variables);
    return new TestJvm(builder.redirectOutput(output.toFile()).start(), output);
  }

  /** Waits until {@code ready} holds for the lines so far, and returns them. */
  public List<String> await(Predicate<List<String>> ready)
      throws IOException, InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(PATIENCE_SECONDS).toNanos();
    while (true) {
      List<String> lines = output();
      if (ready.test(lines)) {
        return lines;
      }
      assertThat(process.isAlive()).as("still running, output %s", lines).isTrue();
      assertThat(System.nanoTime()).as("in time, output %s", lines).isLessThan(deadline);
      Thread.sleep(20);
    }
  }

  public void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid()).start().waitFor();
  }

  /** Waits until the process has stopped itself. */
  public void awaitStop() throws IOException, InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(PATIENCE_SECONDS).toNanos();
    String state = "";
    while (!state.startsWith("T")) {
      assertThat(System.nanoTime()).as("in time, state %s", state).isLessThan(deadline);
      Thread.sleep(20);
      String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
      state = stat.substring(stat.lastIndexOf(')') + 2);
    }
  }

  public int exitCode() throws InterruptedException {
    return exitCode(Duration.ofSeconds(PATIENCE_SECONDS));
  }

  /** Returns the status of a program that may take longer, as the compilation of a model does. */
  public int exitCode(Duration limit) throws InterruptedException {
    assertThat(process.waitFor(limit.toSeconds(), TimeUnit.SECONDS)).as("ended in time").isTrue();
    return process.exitValue();
  }

  public List<String> output() throws IOException {
    return lines(output);
  }

  /** Returns the lines of a program so far, without JavaCPP's warning about other versions. */
  public static List<String> lines(Path output) throws IOException {
    try (Stream<String> lines = Files.lines(output)) {
      return lines.filter(line -> !line.startsWith("Warning: Versions of org.bytedeco:")).toList();
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}

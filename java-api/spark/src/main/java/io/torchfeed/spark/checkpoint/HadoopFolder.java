// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.checkpoint;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A folder of checkpoints in a Hadoop file system. It needs no atomic renaming: a file that is
 * written last says that a checkpoint is complete, and each attempt of each job has names of its
 * own. That file gets its name when it is closed, since HDFS does not read one whose writer was
 * lost.
 */
public final class HadoopFolder {
  private static final String COMPLETE = "COMPLETE";
  private static final String OPEN = "COMPLETE.open";
  private static final String END = "end";
  private static final String LOSS = "loss";
  private static final String SCORE = "score";
  private static final Pattern LAST_LINE =
      Pattern.compile(END + "(?: (" + LOSS + "|" + SCORE + ") (\\S+))?");
  private static final Pattern NAME =
      Pattern.compile("step-(\\d{6,18})\\.([0-9a-f]{16})\\.attempt-(\\d{1,9})");

  private final Path path;
  private final Configuration hadoop;

  public HadoopFolder(String path, Configuration hadoop) {
    this.path = new Path(path);
    this.hadoop = hadoop;
  }

  static String nameOf(long step, String job, int attempt) {
    return String.format(Locale.ROOT, "step-%06d.%s.attempt-%d", step, job, attempt);
  }

  static long stepOf(String name) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "the name of a checkpoint must match %s, got %s".formatted(NAME, name));
    }
    return Long.parseLong(matcher.group(1));
  }

  /** Returns the file system, which Hadoop shares and closes. */
  private FileSystem files() throws IOException {
    return path.getFileSystem(hadoop);
  }

  /** Creates the folder if it is missing. */
  public void create() throws IOException {
    if (!files().mkdirs(path)) {
      throw new IOException("the file system has refused it");
    }
  }

  void upload(java.nio.file.Path local, String name) throws IOException {
    Path target = new Path(path, name);
    files().delete(target, true); // of an earlier run
    files().copyFromLocalFile(false, true, new Path(local.toUri()), target);
  }

  void download(String name, java.nio.file.Path local) throws IOException {
    files().copyToLocalFile(false, new Path(path, name), new Path(local.toUri()), true);
  }

  /** Marks a checkpoint as complete. */
  void complete(String name, List<String> digests, Optional<Metric> metric) throws IOException {
    Path open = new Path(new Path(path, name), OPEN);
    try (OutputStream out = files().create(open, true)) {
      out.write((String.join("\n", digests) + "\n" + end(metric)).getBytes(StandardCharsets.UTF_8));
    }
    files().delete(marker(name), false); // of the same step
    if (!files().rename(open, marker(name))) {
      throw new IOException("the file system has not renamed " + open);
    }
  }

  /** Returns the last line of the marker, which has the metric. */
  private static String end(Optional<Metric> metric) {
    return metric
        .map(each -> "%s %s %s".formatted(END, each.isLoss() ? LOSS : SCORE, each.value()))
        .orElse(END);
  }

  private Path marker(String name) {
    return new Path(new Path(path, name), COMPLETE);
  }

  /**
   * Returns the digests of the ranks' rows when a checkpoint was saved; empty if it is not
   * complete.
   */
  List<String> digests(String name) throws IOException {
    List<String> lines = lines(name);
    return lines.isEmpty() ? List.of() : lines.subList(0, lines.size() - 1);
  }

  /** Returns the lines of a marker that is complete; else none. */
  private List<String> lines(String name) throws IOException {
    try (InputStream in = files().open(marker(name))) {
      List<String> lines = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
      int count = lines.size() - 1;
      return count > 0 && LAST_LINE.matcher(lines.get(count)).matches() ? lines : List.of();
    } catch (FileNotFoundException e) {
      return List.of();
    }
  }

  private Optional<Metric> metric(String name) throws IOException {
    List<String> lines = lines(name);
    Matcher end = LAST_LINE.matcher(lines.isEmpty() ? END : lines.get(lines.size() - 1));
    return end.matches() && end.group(1) != null
        ? Optional.of(new Metric(Double.parseDouble(end.group(2)), end.group(1).equals(LOSS)))
        : Optional.empty();
  }

  /**
   * Returns the names of the complete checkpoints that have a metric of the kind that the newest
   * has.
   *
   * @return the names, best first, and of equal ones the first
   * @throws IOException if the file system fails
   */
  public List<String> best() throws IOException {
    List<String> names = new ArrayList<>();
    List<Metric> metrics = new ArrayList<>();
    for (String name : complete()) {
      Optional<Metric> metric = metric(name);
      if (metric.isPresent()
          && (metrics.isEmpty() || metrics.get(0).isLoss() == metric.get().isLoss())) {
        int place = 0;
        while (place < metrics.size() && metrics.get(place).isBetterThan(metric.get())) {
          place++;
        }
        names.add(place, name);
        metrics.add(place, metric.get());
      }
    }
    return names;
  }

  /**
   * Returns the names of the complete checkpoints.
   *
   * @return the names, newest first
   * @throws IOException if the file system fails
   */
  public List<String> complete() throws IOException {
    List<String> names = new ArrayList<>();
    for (String name : all()) {
      if (!digests(name).isEmpty()) {
        names.add(name);
      }
    }
    return names;
  }

  private List<String> all() throws IOException {
    FileStatus[] found;
    try {
      found = files().listStatus(path);
    } catch (FileNotFoundException e) {
      return List.of();
    }
    return Stream.of(found)
        .map(each -> each.getPath().getName())
        .filter(name -> NAME.matcher(name).matches())
        .sorted(
            Comparator.comparingLong(HadoopFolder::stepOf)
                .thenComparing(Comparator.naturalOrder())
                .reversed())
        .toList();
  }

  /** Deletes all but the newest complete checkpoints and the best ones. */
  void deleteOld(int kept, int keptBest) throws IOException {
    List<String> complete = complete();
    if (complete.size() <= kept) {
      return;
    }
    String oldest = complete.get(kept - 1);
    List<String> all = all();
    List<String> best = best().stream().limit(keptBest).toList();
    for (String name : all.subList(all.indexOf(oldest) + 1, all.size())) {
      if (!best.contains(name)) {
        files().delete(new Path(path, name), true);
      }
    }
  }

  @Override
  public String toString() {
    return path.toString();
  }
}

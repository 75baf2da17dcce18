// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.PathBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.Tensor;

/**
 * A writer of scalars, histograms and pictures over steps, which TensorBoard shows while a run
 * writes them: {@code tensorboard --logdir FOLDER}.
 *
 * <pre>{@code
 * try (SummaryWriter summary = SummaryWriter.open(Path.of("runs", "first"))) {
 *   summary.scalar("epoch/seconds", seconds, epoch);
 *   summary.histogram("weight", net.weight(), epoch);
 *   summary.image("sample", images.select(0, 0), epoch);
 * }
 * }</pre>
 *
 * <p>The records equal PyTorch's byte for byte, for scalars and histograms. The scalars are also
 * rows of {@code scalars.csv}, with the columns {@code step}, {@code tag}, {@code value} and {@code
 * seconds} since 1970, for programs that read tables. An empty file, {@code scalars.csv.lock},
 * keeps a second writer out.
 *
 * <p>Each folder has one writer at a time: in a group, rank 0 writes, or each rank writes into a
 * folder of its own. New values stay in memory until the first call after 10 seconds, or {@link
 * #flush}; a process that is killed leaves complete records up to that moment. If writing fails,
 * for example on a full disk, that call throws {@link UncheckedIOException} and adds nothing; the
 * values of earlier calls are written once there is space.
 *
 * <p>Thread-safe. No thread of its own.
 */
public final class SummaryWriter implements AutoCloseable {
  /** Another writer, of this process or another one, has the folder open. */
  public static final class FolderInUseException extends IOException {
    private static final long serialVersionUID = 1L;

    FolderInUseException(Path folder) {
      super(
          "another writer has %s open; let one rank write, or give each a folder of its own"
              .formatted(folder));
    }
  }

  private static final Duration INTERVAL = Duration.ofSeconds(10);
  private static final int MAX_PENDING_BYTES = 8 << 20;
  private static final int MAX_HOST = 100;
  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");
  private static final Pattern NO_NAME = Pattern.compile("[^A-Za-z0-9.-]");

  private final Path folder;
  private final FileChannel lock;
  private final InstantSource clock;
  private final AppendedFile events;
  private final AppendedFile scalars;
  private Instant flushed;
  private boolean isClosed;

  private SummaryWriter(Path folder, FileChannel lock, InstantSource clock) throws IOException {
    this.folder = folder;
    this.lock = lock;
    this.clock = clock;
    flushed = clock.instant();
    scalars = new AppendedFile(folder.resolve(ScalarTable.NAME));
    events = new AppendedFile(createEvents(folder, flushed));
  }

  /**
   * Opens a new event file in a folder, which is created if need be. Files of earlier runs there
   * stay, and TensorBoard shows them as the same run.
   *
   * @param folder of a run
   * @return a writer
   * @throws FolderInUseException if another writer has the folder open
   * @throws IOException if the folder cannot be written
   * @throws IllegalArgumentException if the folder is not in the default file system
   */
  public static SummaryWriter open(Path folder) throws IOException {
    return open(folder, Long.MAX_VALUE, InstantSource.system());
  }

  /**
   * Opens a new event file for a run that continues at a step. TensorBoard no longer shows the
   * values of earlier files from that step on, and {@code scalars.csv} loses those rows: the steps
   * after the checkpoint are taken again.
   *
   * @param folder of the run
   * @param step the first one whose values go, at least 0: Python's {@code purge_step}. If steps
   *     are counted when they are complete, as in an evaluation, it is the step of the checkpoint
   *     plus 1
   * @return a writer
   * @throws FolderInUseException if another writer has the folder open
   * @throws IOException if the folder cannot be written, or its table was changed
   * @throws IllegalArgumentException if the step is negative, or the folder is not in the default
   *     file system
   */
  public static SummaryWriter resume(Path folder, long step) throws IOException {
    return open(folder, requireStep(step), InstantSource.system());
  }

  static SummaryWriter open(Path folder, long step, InstantSource clock) throws IOException {
    PathBytes.requireDefault(requireNonNull(folder, "folder"));
    Files.createDirectories(folder);
    FileChannel lock = lock(folder);
    try {
      ScalarTable.prepare(folder, step);
      SummaryWriter writer = new SummaryWriter(folder, lock, clock);
      writer.start(step);
      return writer;
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
  }

  private void start(long step) {
    double seconds = seconds(clock.instant());
    events.append(EventRecords.version(seconds));
    if (step < Long.MAX_VALUE) {
      events.append(EventRecords.start(seconds, step));
    }
    flush();
  }

  private static FileChannel lock(Path folder) throws IOException {
    FileChannel file =
        FileChannel.open(
            folder.resolve(ScalarTable.NAME + ".lock"),
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE);
    boolean isLocked = false;
    try {
      isLocked = file.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      isLocked = false; // by a writer of this process
    } finally {
      if (!isLocked) {
        file.close();
      }
    }
    if (!isLocked) {
      throw new FolderInUseException(folder);
    }
    return file;
  }

  private static Path createEvents(Path folder, Instant now) throws IOException {
    String run =
        "events.out.tfevents.%010d.%s.%d."
            .formatted(now.getEpochSecond(), hostName(), ProcessHandle.current().pid());
    int number = 0;
    while (true) {
      try {
        return Files.createFile(folder.resolve(run + number));
      } catch (FileAlreadyExistsException e) {
        number++; // a writer of this process in the same second has it
      }
    }
  }

  private static String hostName() {
    String name;
    try {
      name = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      name = "localhost"; // a machine that has no address for its own name
    }
    String allowed = NO_NAME.matcher(name).replaceAll("_");
    return allowed.substring(0, Math.min(MAX_HOST, allowed.length()));
  }

  /**
   * Adds a number to the curve of its tag.
   *
   * @param tag the name of a curve; TensorBoard groups curves by the text before a slash
   * @param value any number, also NaN or infinite; the event file has it as a float32
   * @param step at least 0
   * @throws IllegalArgumentException if the tag is blank or has control characters, or the step is
   *     negative
   * @throws IllegalStateException if the writer is closed
   */
  public synchronized void scalar(String tag, double value, long step) {
    double seconds = begin(tag, step);
    events.append(EventRecords.scalar(seconds, step, tag, value));
    scalars.append(ScalarTable.row(seconds, step, tag, value));
  }

  /**
   * Adds the distribution of a tensor's values. Values that are not finite are left out; if there
   * are any, their number is the scalar {@code TAG/not finite}.
   *
   * @param tag the name of a curve, as in {@link #scalar}
   * @param values of any real dtype, shape and device, for example a parameter or its gradient;
   *     borrowed. A tensor without finite values has no histogram
   * @param step at least 0
   * @throws IllegalArgumentException if the tag or the step is wrong, or the tensor is complex
   * @throws IllegalStateException if the writer is closed
   */
  public void histogram(String tag, Tensor values, long step) {
    requireTag(tag);
    requireStep(step);
    if (requireNonNull(values, "values").is_complex()) {
      throw new IllegalArgumentException("the values of a histogram must be real numbers");
    }
    Histogram counted = Histogram.of(values);
    if (counted.others() > 0) {
      scalar(tag + "/not finite", (double) counted.others(), step);
    }
    if (counted.count() > 0) {
      add(tag, step, seconds -> EventRecords.histogram(seconds, step, tag, counted));
    }
  }

  /**
   * Adds a picture.
   *
   * @param tag the name of a curve, as in {@link #scalar}
   * @param image of shape {@code [channels, height, width]} with 1, 3 or 4 channels (grey, RGB,
   *     RGBA), at most 2^29 - 1 pixels, on any device: uint8, or floating point of which [0, 1]
   *     becomes [0, 255]; borrowed
   * @param step at least 0
   * @throws IllegalArgumentException if the tag or the step is wrong, or the tensor is no picture
   * @throws IllegalStateException if the writer is closed
   */
  public void image(String tag, Tensor image, long step) {
    requireTag(tag);
    requireStep(step);
    PngImage encoded = PngImage.of(requireNonNull(image, "image"));
    add(tag, step, seconds -> EventRecords.image(seconds, step, tag, encoded));
  }

  /**
   * Writes all values to the files.
   *
   * @throws IllegalStateException if the writer is closed
   */
  public synchronized void flush() {
    requireOpen();
    flushed = clock.instant();
    events.flush();
    scalars.flush();
  }

  /**
   * Writes all values, and closes the files. If that fails, they are closed all the same, less the
   * values since the last flush. A second call has no effect.
   */
  @Override
  public synchronized void close() {
    if (isClosed) {
      return;
    }
    isClosed = true;
    try (FileChannel closed = lock) {
      events.flush();
      scalars.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot close the lock of " + folder, e);
    }
  }

  private interface Event {
    byte[] at(double seconds);
  }

  private synchronized void add(String tag, long step, Event event) {
    events.append(event.at(begin(tag, step)));
  }

  /** Returns the time of a value, after a flush every ten seconds. */
  private double begin(String tag, long step) {
    requireTag(tag);
    requireStep(step);
    requireOpen();
    Instant now = clock.instant();
    if (events.pendingBytes() > MAX_PENDING_BYTES
        || Duration.between(flushed, now).abs().compareTo(INTERVAL) >= 0) {
      flush();
    }
    return seconds(now);
  }

  private void requireOpen() {
    if (isClosed) {
      throw new IllegalStateException("the summary writer of %s is closed".formatted(folder));
    }
  }

  private static String requireTag(String tag) {
    if (requireNonNull(tag, "tag").isBlank() || CONTROL.matcher(tag).find()) {
      throw new IllegalArgumentException(
          "a tag must have characters, and no control characters, got \"%s\"".formatted(tag));
    }
    return tag;
  }

  private static long requireStep(long step) {
    if (step < 0) {
      throw new IllegalArgumentException("step must be at least 0, got " + step);
    }
    return step;
  }

  private static double seconds(Instant time) {
    return time.getEpochSecond() + time.getNano() / 1e9;
  }
}

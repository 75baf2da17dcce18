// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.bindings.ImageRecord;
import io.torchfeed.bindings.ImageRecordWriter;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.internal.Quotes;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongConsumer;
import org.bytedeco.javacpp.BytePointer;
import org.jspecify.annotations.Nullable;

/**
 * Writes the images of a list into a record file: threads read and rewrite images, this one appends
 * them in order.
 */
final class RecordPacker implements AutoCloseable {
  private static final int AHEAD_PER_THREAD = 4;
  private static final char UNREADABLE = '\uFFFD';

  private final ImageList list;
  private final FailurePolicy onFailure;
  private final int threads = Runtime.getRuntime().availableProcessors();
  private final ExecutorService pool = Executors.newFixedThreadPool(threads, RecordPacker::thread);
  private final Queue<Future<NativeHandle<ImageRecord>>> pending = new ArrayDeque<>();
  private int next; // of the images: the first that is not pending yet

  private RecordPacker(ImageList list, FailurePolicy onFailure) {
    this.list = list;
    this.onFailure = onFailure;
  }

  /** Writes the file; returns the images that were left out, with their reasons. */
  static List<String> pack(
      ImageList list, Path file, FailurePolicy onFailure, LongConsumer progress) {
    requireReadable(list.classes());
    List<String> leftOut = new ArrayList<>();
    try (RecordPacker packer = new RecordPacker(list, onFailure);
        BytePointer name = new BytePointer(PathBytes.of(file));
        NativeHandle<ImageRecordWriter> writer =
            NativeHandle.create("ImageRecordWriter", () -> ImageRecordWriter.create(name))) {
      int size = list.size();
      for (int i = 0; i < size; i++) {
        int label = list.label(i);
        try (NativeHandle<ImageRecord> image = packer.take(leftOut)) {
          if (image != null) {
            writer.run(to -> image.run(from -> to.add(from, label)));
          }
        }
        progress.accept(i + 1L);
      }
      int written = size - leftOut.size();
      if (written == 0) {
        throw new IllegalStateException(
            "an image must be left to be written, but all %d were left out, the first because of: %s"
                .formatted(size, leftOut.get(0)));
      }
      String description =
          RecordDescription.write(
              list.classes(), written, writer.callLong(ImageRecordWriter::tiled));
      try (BytePointer json = new BytePointer(description.getBytes(StandardCharsets.UTF_8))) {
        writer.run(to -> to.finish(json));
      }
    }
    return List.copyOf(leftOut);
  }

  /** Requires that no letter of a name was lost when the name was read. */
  private static void requireReadable(List<String> classes) {
    for (String name : classes) {
      if (name.indexOf(UNREADABLE) >= 0) {
        throw new IllegalArgumentException(
            "the class %s has letters that the encoding of file names, %s, does not have; set"
                    .formatted(name, System.getProperty("sun.jnu.encoding"))
                + " LC_ALL to a UTF-8 locale such as C.UTF-8");
      }
    }
  }

  /** Returns the next image, which belongs to the caller, or null if it is left out. */
  private @Nullable NativeHandle<ImageRecord> take(List<String> leftOut) {
    while (next < list.size() && pending.size() < threads * AHEAD_PER_THREAD) {
      Path file = list.files().get(next++);
      pending.add(pool.submit(() -> read(file)));
    }
    try {
      NativeHandle<ImageRecord> image = pending.element().get();
      pending.remove();
      return image;
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (onFailure.skip() && cause != null && isUnreadable(cause)) {
        pending.remove();
        leftOut.add(Quotes.printable(Failures.reason(cause)));
        return null;
      }
      throw cause instanceof RuntimeException failure
          ? failure
          : new IllegalStateException("an image could not be read", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while images were written", e);
    }
  }

  private static boolean isUnreadable(Throwable failure) {
    return failure instanceof NativeException e && e.code() == NativeException.Code.UNREADABLE;
  }

  private NativeHandle<ImageRecord> read(Path file) {
    try (BytePointer name = new BytePointer(PathBytes.of(file))) {
      int retries = onFailure.retries();
      while (true) {
        try {
          return NativeHandle.create("ImageRecord", () -> ImageRecord.read(name));
        } catch (NativeException e) {
          if (retries-- == 0 || !isUnreadable(e)) {
            throw e;
          }
        }
      }
    }
  }

  private static Thread thread(Runnable body) {
    Thread thread = new Thread(body, "torchfeed-pack");
    thread.setDaemon(true);
    return thread;
  }

  /** Waits for the images that are being read, a few per thread, and frees them. */
  @Override
  public void close() {
    pool.shutdown();
    boolean isInterrupted = false;
    while (!pending.isEmpty()) {
      try {
        pending.element().get().close();
        pending.remove();
      } catch (ExecutionException e) {
        pending.remove(); // a failure after the first
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

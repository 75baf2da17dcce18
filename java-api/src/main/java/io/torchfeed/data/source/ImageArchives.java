// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeImageRecords;
import io.torchfeed.bindings.NativeText;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.PathBytes;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.bytedeco.javacpp.BytePointer;

/** Open record or tar files: the sources of datasets; they keep the files open themselves. */
final class ImageArchives implements AutoCloseable {
  private final List<Path> paths;
  private final NativeHandle<NativeImageRecords> files =
      NativeHandle.create("ImageRecords", NativeImageRecords::create);

  private ImageArchives(List<Path> paths, BiConsumer<NativeImageRecords, BytePointer> add) {
    this.paths = paths;
    try {
      for (Path path : paths) {
        try (BytePointer name = new BytePointer(PathBytes.of(path))) {
          files.run(all -> add.accept(all, name));
        }
      }
    } catch (NativeException e) {
      files.close();
      throw unchecked(e);
    } catch (RuntimeException e) {
      files.close();
      throw e;
    }
  }

  static ImageArchives ofRecords(List<Path> paths) {
    return of(paths, "record", NativeImageRecords::add);
  }

  /** Opens tar files; samples that are none fail, or are left out. */
  static ImageArchives ofTars(List<Path> paths, boolean skips) {
    return of(paths, "tar", (all, name) -> all.add_tar(name, skips));
  }

  /** Returns the samples of tar files that were left out, with the reason of each. */
  List<String> leftOut() {
    List<String> reasons = new ArrayList<>();
    long size = files.callLong(NativeImageRecords::left_out);
    for (long i = 0; i < size; i++) {
      long number = i;
      reasons.add(
          Quotes.printable(files.call(from -> NativeText.of(from.left_out_sample(number)))));
    }
    return List.copyOf(reasons);
  }

  private static ImageArchives of(
      List<Path> paths, String kind, BiConsumer<NativeImageRecords, BytePointer> add) {
    List<Path> all = Checks.copyOf("paths", paths);
    if (all.isEmpty()) {
      throw new IllegalArgumentException(
          "at least one %s file is needed, got none".formatted(kind));
    }
    return new ImageArchives(all, add);
  }

  /** Returns the names of the classes, which all record files must have in common. */
  List<String> classes() {
    List<List<String>> classes = new ArrayList<>();
    for (int i = 0; i < paths.size(); i++) {
      int number = i;
      String json = files.call(from -> NativeText.of(from.description(number)));
      classes.add(RecordDescription.classes(paths.get(i), json));
      if (!classes.get(i).equals(classes.get(0))) {
        throw new IllegalArgumentException(
            "all record files must have the classes of the first, %s, got %s in %s"
                .formatted(
                    Quotes.shortened(classes.get(0).toString()),
                    Quotes.shortened(classes.get(i).toString()),
                    paths.get(i)));
      }
    }
    return classes.get(0);
  }

  long size() {
    return files.callLong(NativeImageRecords::rows);
  }

  int[] labels() {
    long[] wide = new long[Math.toIntExact(size())];
    files.run(from -> from.labels(wide));
    int[] labels = new int[wide.length];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = (int) wide[i];
    }
    return labels;
  }

  /** Returns the defect of an image of a record file, or the empty text. */
  String problem(long number) {
    return files.call(from -> NativeText.of(from.problem(number)));
  }

  /** Returns the images and labels, which belong to the caller. */
  NativeHandle<RowSet> rows(String owner, ImagePlan plan) {
    double[] steps = Door.IMAGE_STEPS.of(plan);
    return files.call(
        from -> NativeHandle.create(owner, () -> RowSet.of_records(from, steps, steps.length)));
  }

  @Override
  public void close() {
    files.close();
  }

  /** Returns the exception for an error of native code that concerns a file. */
  static RuntimeException unchecked(NativeException e) {
    return e.code() == NativeException.Code.UNREADABLE
        ? new UncheckedIOException(Failures.reason(e), new IOException(e))
        : new IllegalStateException(Failures.reason(e), e);
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.source.ObjectStreamDataset;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.text.LineCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;

/** The notation of golden/states_9842441.txt for the output of plans, loaders and texts. */
final class LegacyNotation {
  /** The maximum number of indices recorded of an endless plan. */
  private static final int MAX_INDICES = 60;

  private LegacyNotation() {}

  /** Reads a cursor to its end: indices, with a p after padding. */
  static String follows(Cursor cursor) {
    List<String> indices = new ArrayList<>();
    long[] index = new long[1];
    while (indices.size() < MAX_INDICES) {
      long position = cursor.position();
      if (cursor.next(index, 0, 1) == 0) {
        return String.join(" ", indices);
      }
      indices.add(index[0] + padding(cursor.isPadding(position)));
    }
    return String.join(" ", indices) + " ...";
  }

  /** Reads a cursor to its end: batches separated by |. */
  static String follows(BatchCursor cursor, int maxBatchSize) {
    List<String> batches = new ArrayList<>();
    long[] indices = new long[maxBatchSize];
    while (true) {
      long position = cursor.position();
      int size = cursor.next(indices, 0);
      if (size == 0) {
        return String.join("|", batches);
      }
      List<String> batch = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        batch.add(indices[i] + padding(cursor.isPadding(position, i)));
      }
      batches.add(String.join(" ", batch));
    }
  }

  /** Reads a pass to its end: batches by number. */
  static String follows(Batches pass) {
    SortedMap<Long, String> batches = new TreeMap<>();
    while (pass.hasNext()) {
      Batch batch = pass.next();
      if (batches.put(batch.number(), rows(batch, batch.tensor(0), batch.tensor(1))) != null) {
        throw new IllegalStateException("batch %d came twice".formatted(batch.number()));
      }
    }
    return joined(batches);
  }

  /** Reads a cursor to its end: lines as file@offset:text, separated by |. */
  static String follows(LineCursor cursor) {
    List<String> lines = new ArrayList<>();
    while (cursor.next()) {
      lines.add(
          "%s@%d:%s"
              .formatted(
                  cursor.path().getFileName(),
                  cursor.offset(),
                  cursor.text().replace("\r", "\\r")));
    }
    return String.join("|", lines);
  }

  /** Reads a stream to its end: objects separated by |. */
  static String follows(ObjectStreamDataset.ObjectStream<String> stream) throws Exception {
    List<String> objects = new ArrayList<>();
    for (String object = stream.next(); object != null; object = stream.next()) {
      objects.add(object);
    }
    return String.join("|", objects);
  }

  private static String joined(SortedMap<Long, String> batches) {
    List<String> all = new ArrayList<>();
    batches.forEach((number, rows) -> all.add(number + "=" + rows));
    return String.join("|", all);
  }

  /** Rows as index:value/value. */
  private static String rows(Batch batch, Tensor first, Tensor second) {
    long[] indices = batch.indices();
    long[] firsts = longs(first);
    long[] seconds = longs(second);
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < indices.length; i++) {
      rows.add(indices[i] + padding(batch.isPadding(i)) + ":" + firsts[i] + "/" + seconds[i]);
    }
    return String.join(" ", rows);
  }

  private static long[] longs(Tensor tensor) {
    long[] values = new long[(int) tensor.numel()];
    tensor.data_ptr_long().get(values);
    return values;
  }

  private static String padding(boolean isPadding) {
    return isPadding ? "p" : "";
  }
}

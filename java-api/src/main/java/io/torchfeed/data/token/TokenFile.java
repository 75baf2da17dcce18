// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowTransform;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Token ids in files, one after another, little-endian: raw ones, as {@code numpy.tofile} writes
 * them, or the pairs of a {@code .bin} and an {@code .idx} file of Megatron-LM.
 *
 * <pre>{@code
 * TokenFile tokens = TokenFile.raw(DType.UINT16, Path.of("train.bin"));
 * try (NativeDataset windows = tokens.windows(1025);
 *     DataLoader loader = DataLoader.over(windows).batchSize(8).build();
 *     Batches batches = loader.epoch(0)) {
 *   for (Batch batch : batches) {
 *     Tensor input = batch.tensor(0).narrow(1, 0, 1024); // int64 [8, 1024]
 *     Tensor target = batch.tensor(0).narrow(1, 1, 1024);
 *     train(input, target);
 *   }
 * }
 * }</pre>
 *
 * <p>The samples that it makes, each with its file and none across two of them:
 *
 * <table>
 * <caption>Samples of tokens</caption>
 * <tr><th>method</th><th>sample</th><th>read by</th></tr>
 * <tr><td>{@link #windows(int)}</td><td>int64 {@code [length]}, across the ends of documents</td>
 *     <td>native code</td></tr>
 * <tr><td>{@link #documentWindows}</td><td>int64 {@code [length]} of one document</td><td>native
 *     code</td></tr>
 * <tr><td>{@link #packed}</td><td>tokens, targets, documents and positions, each int64 {@code
 *     [length]}, of one or more documents</td><td>the loader's workers in Java</td></tr>
 * </table>
 *
 * <p>Immutable and thread-safe; it keeps no file open, the datasets do.
 */
public final class TokenFile {
  private static final Set<DType> IDS =
      EnumSet.of(DType.UINT8, DType.UINT16, DType.UINT32, DType.INT16, DType.INT32, DType.INT64);

  private final DType dtype;
  private final List<TokenPart> parts;
  private final long[] begins; // of each document, in tokens of all files, and the end of the last

  private TokenFile(DType dtype, List<TokenPart> parts, long[] begins) {
    this.dtype = dtype;
    this.parts = parts;
    this.begins = begins;
  }

  /**
   * Returns the tokens of raw files. Each file is one document, see {@link #splitAfter}.
   *
   * @param dtype the type of an id: UINT8, UINT16, UINT32, INT16, INT32 or INT64
   * @param files at least one, each with whole ids
   * @return the tokens, in the order of the files
   * @throws IllegalArgumentException if there is no file, the type is another one, or a file is no
   *     regular file, ends within an id, or begins as an npy file or an index does
   * @throws java.io.UncheckedIOException if a file cannot be read
   */
  public static TokenFile raw(DType dtype, Path... files) {
    return raw(dtype, 0, files);
  }

  /**
   * Returns the tokens of raw files behind a header, such as the 1024 bytes that llm.c writes.
   *
   * @param dtype the type of an id: UINT8, UINT16, UINT32, INT16, INT32 or INT64
   * @param headerBytes the bytes before the first id of each file, at least 0
   * @param files at least one, each with whole ids behind its header
   * @return the tokens, in the order of the files
   * @throws IllegalArgumentException if there is no file, the type is another one, the number is
   *     negative, or a file is no regular file, is shorter than its header or ends within an id
   * @throws java.io.UncheckedIOException if the size of a file cannot be read
   */
  public static TokenFile raw(DType dtype, long headerBytes, Path... files) {
    requireNonNull(files, "files");
    if (!IDS.contains(requireNonNull(dtype, "dtype"))) {
      throw new IllegalArgumentException("dtype must be one of " + IDS + ", got " + dtype);
    }
    if (headerBytes < 0) {
      throw new IllegalArgumentException("headerBytes must be at least 0, got " + headerBytes);
    }
    List<TokenPart> parts = new ArrayList<>();
    for (Path file : files) {
      TokenPart part = TokenBytes.part(requireNonNull(file, "file"), dtype, headerBytes);
      if (headerBytes == 0) {
        TokenBytes.requireRaw(part);
      }
      parts.add(part);
    }
    if (parts.isEmpty()) {
      throw new IllegalArgumentException("at least one file of tokens is needed, got none");
    }
    long[] begins = new long[parts.size() + 1];
    for (int i = 0; i < parts.size(); i++) {
      begins[i + 1] = Math.addExact(begins[i], parts.get(i).tokens());
    }
    return new TokenFile(dtype, List.copyOf(parts), begins);
  }

  /**
   * Returns the tokens of datasets of Megatron-LM: a {@code .bin} file with the ids and, beside it,
   * an {@code .idx} file of version 1 with the lengths of the documents.
   *
   * @param binaries the {@code .bin} files, at least one, of one type of ids
   * @return the tokens, in the order of the files
   * @throws IllegalArgumentException if there is no file, a name does not end in {@code .bin}, an
   *     index is damaged, has ids of floats or does not fit its {@code .bin} file, or the types of
   *     the ids differ
   * @throws java.io.UncheckedIOException if a file cannot be read
   */
  public static TokenFile megatron(Path... binaries) {
    requireNonNull(binaries, "binaries");
    List<MegatronIndex> indexes = new ArrayList<>();
    for (Path binary : binaries) {
      indexes.add(MegatronIndex.read(requireNonNull(binary, "binary")));
    }
    if (indexes.isEmpty()) {
      throw new IllegalArgumentException("at least one file of tokens is needed, got none");
    }
    DType dtype = indexes.get(0).part().dtype();
    LongList begins = new LongList();
    long before = 0;
    for (MegatronIndex index : indexes) {
      if (index.part().dtype() != dtype) {
        throw new IllegalArgumentException(
            "%s must have ids of %s, as %s has, got %s"
                .formatted(
                    index.part().path(),
                    dtype,
                    indexes.get(0).part().path(),
                    index.part().dtype()));
      }
      for (int i = 0; i + 1 < index.begins().length; i++) {
        begins.add(before + index.begins()[i]);
      }
      before = Math.addExact(before, index.part().tokens());
    }
    begins.add(before);
    return new TokenFile(
        dtype, indexes.stream().map(MegatronIndex::part).toList(), begins.toArray());
  }

  /**
   * Returns these tokens with a document ending after each token with the given id, and at the end
   * of each file. All files are read once.
   *
   * @param endToken the id with which documents end, for example GPT-2's 50256
   * @return the tokens, with other documents
   * @throws IllegalArgumentException if no id of this type is {@code endToken}, or there are 2^31
   *     documents or more
   * @throws java.io.UncheckedIOException if a file cannot be read
   */
  public TokenFile splitAfter(long endToken) {
    long[] range = TokenBytes.range(dtype);
    if (endToken < range[0] || endToken > range[1]) {
      throw new IllegalArgumentException(
          "endToken must be in %s to be an id of %s, got %d"
              .formatted(Arrays.toString(range), dtype, endToken));
    }
    LongList found = new LongList();
    long before = 0;
    for (TokenPart part : parts) {
      long first = before;
      long last = before + part.tokens();
      found.add(first);
      TokenBytes.scan(
          part,
          (position, id) -> {
            if (id == endToken && first + position + 1 < last) {
              found.add(first + position + 1);
            }
          });
      before = last;
    }
    found.add(before);
    return new TokenFile(dtype, parts, found.toArray());
  }

  /**
   * Returns the number of tokens.
   *
   * @return the number in all files, at least 0
   */
  public long tokens() {
    return begins[begins.length - 1];
  }

  /**
   * Returns the number of documents.
   *
   * @return their number, those without tokens included
   */
  public int documents() {
    return begins.length - 1;
  }

  /**
   * Returns the type of the ids in the files.
   *
   * @return the type
   */
  public DType dtype() {
    return dtype;
  }

  /**
   * Returns windows whose last token is the first of the next one, so that each token but the first
   * of a file is a target once: {@code windows(length, length - 1)}.
   *
   * @param length the tokens of a window, at least 2: one more than the model's context
   * @return a dataset of one column, int64 {@code [length]}; the caller closes it
   * @throws IllegalArgumentException if the length is less than 2, or a file has become shorter
   * @throws java.io.UncheckedIOException if a file cannot be opened
   */
  public NativeDataset windows(int length) {
    if (length < 2) {
      throw new IllegalArgumentException("length must be at least 2, got " + length);
    }
    return windows(length, length - 1);
  }

  /**
   * Returns windows that begin every {@code stride} tokens of a file, across the ends of documents.
   * The tokens after the last window of a file are in no sample. A dataset of files that are all
   * shorter than a window is empty: an epoch has no batches, which a training loop refuses.
   *
   * @param length the tokens of a window, at least 1
   * @param stride the tokens from the first of a window to the first of the next, at least 1;
   *     windows overlap if it is less than their length
   * @return a dataset of one column, int64 {@code [length]}; the caller closes it
   * @throws IllegalArgumentException if a number is less than 1, there are 2^31 windows or more
   *     that do not overlap, or a file has become shorter
   * @throws java.io.UncheckedIOException if a file cannot be opened
   */
  public NativeDataset windows(int length, int stride) {
    requireAtLeastOne("length", length);
    requireAtLeastOne("stride", stride);
    if (stride < length) {
      return asLongs(open(length, stride));
    }
    long[] ends = new long[parts.size() + 1];
    for (int i = 0; i < parts.size(); i++) {
      ends[i + 1] = ends[i] + parts.get(i).tokens();
    }
    return windowsWithin(ends, length, stride);
  }

  /**
   * Returns windows of single documents: they begin every {@code stride} tokens of a document. The
   * tokens after the last window of a document, and documents shorter than a window, are in no
   * sample.
   *
   * @param length the tokens of a window, at least 1
   * @param stride the tokens from the first of a window to the first of the next, at least 1
   * @return a dataset of one column, int64 {@code [length]}; the caller closes it
   * @throws IllegalArgumentException if a number is less than 1, there are 2^31 windows or more, or
   *     a file has become shorter
   * @throws java.io.UncheckedIOException if a file cannot be opened
   */
  public NativeDataset documentWindows(int length, int stride) {
    requireAtLeastOne("length", length);
    requireAtLeastOne("stride", stride);
    return windowsWithin(begins, length, stride);
  }

  /**
   * Returns all documents packed into windows of a fixed number of tokens, see {@link
   * PackedTokens}.
   *
   * @param length the tokens of a window, at least 1
   * @return a dataset of four columns; the caller closes it
   * @throws IllegalArgumentException if the length is less than 1, there are too many windows for
   *     an array, or a file has become shorter
   * @throws java.io.UncheckedIOException if a file cannot be opened
   */
  public PackedTokens packed(int length) {
    requireAtLeastOne("length", length);
    return PackedTokens.of(parts, begins, length);
  }

  /** Returns the windows that lie within a range, selected from one at each token. */
  private NativeDataset windowsWithin(long[] ranges, int length, int stride) {
    LongList rows = new LongList();
    int part = 0;
    long partBegin = 0; // in tokens
    long firstRow = 0;
    for (int i = 0; i + 1 < ranges.length; i++) {
      while (ranges[i] >= partBegin + parts.get(part).tokens() && part + 1 < parts.size()) {
        firstRow += Math.max(0, parts.get(part).tokens() - length + 1);
        partBegin += parts.get(part).tokens();
        part++;
      }
      for (long at = ranges[i]; at <= ranges[i + 1] - length; at += stride) {
        rows.add(firstRow + at - partBegin);
      }
    }
    try (NativeDataset everywhere = open(length, 1)) {
      return asLongs(everywhere.subset(rows.toArray()));
    }
  }

  private NativeDataset open(int length, int stride) {
    RowLayout layout =
        new RowLayout(
            RowLayout.of(dtype, length).row(),
            parts.get(0).offsetBytes(),
            (long) stride * dtype.bytes(),
            ByteOrder.LITTLE_ENDIAN);
    Path[] files = parts.stream().map(TokenPart::path).toArray(Path[]::new);
    FileColumn column = FileColumn.raw(layout, files);
    long rows = parts.stream().mapToLong(part -> count(part.tokens(), length, stride)).sum();
    if (column.rows() != rows) {
      throw new IllegalArgumentException(
          "%s must not change, but have %d windows now, and had %d"
              .formatted(Arrays.toString(files), column.rows(), rows));
    }
    return FileDataset.of(column);
  }

  private static long count(long tokens, int length, int stride) {
    return tokens < length ? 0 : (tokens - length) / stride + 1;
  }

  /** Casts the ids, and closes the dataset of those in the file, unless they are int64. */
  private static NativeDataset asLongs(NativeDataset windows) {
    if (windows.columns().get(0).dtype() == DType.INT64) {
      return windows.withNames("tokens");
    }
    try (windows) {
      return windows
          .transform(0, RowTransform.builder().cast(DType.INT64).build())
          .withNames("tokens");
    }
  }

  private static void requireAtLeastOne(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, got " + value);
    }
  }

  @Override
  public String toString() {
    return "%d tokens of %s in %d documents of %s%s"
        .formatted(
            tokens(),
            dtype,
            documents(),
            parts.get(0).path(),
            parts.size() == 1 ? "" : " and " + (parts.size() - 1) + " more");
  }
}

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Documents packed into windows of a fixed number of tokens, by the first-fit rule: in their order,
 * each goes into the first window that has room for all of it. One that is longer than a window
 * fills windows of its own, and only its rest is packed. Each token is in one window.
 *
 * <p>A sample has four columns, each int64 {@code [length]}:
 *
 * <table>
 * <caption>Columns of a packed window</caption>
 * <tr><th>column</th><th>content</th><th>behind the last document</th></tr>
 * <tr><td>{@code tokens}</td><td>the ids</td><td>0</td></tr>
 * <tr><td>{@code targets}</td><td>the id that follows in the document, also where that is in another
 *     window; -100, which {@code cross_entropy} ignores, for the last of a document</td><td>-100
 *     </td></tr>
 * <tr><td>{@code documents}</td><td>the number of the document in the window, from 0 on</td><td>-1</td></tr>
 * <tr><td>{@code positions}</td><td>0, 1, 2, from the first token of the document in the window
 *     </td><td>0</td></tr>
 * </table>
 *
 * <p>A token attends to those before it in its document:
 *
 * <pre>{@code
 * try (PackedTokens packed = TokenFile.megatron(Path.of("train.bin")).packed(1024);
 *     DataLoader loader = DataLoader.over(packed).batchSize(8).build()) {
 *   for (Batch batch : loader.epoch(0)) {
 *     Tensor documents = batch.tensor("documents"); // [8, 1024]
 *     Tensor mask = documents.unsqueeze(2).eq(documents.unsqueeze(1)).tril(); // [8, 1024, 1024]
 *   }
 * }
 * }</pre>
 *
 * <p>Thread-safe. It holds one array element for each window and two for each piece of a document.
 */
public final class PackedTokens implements Dataset, AutoCloseable {
  private static final long IGNORED = -100;
  private static final List<String> NAMES = List.of("tokens", "targets", "documents", "positions");

  private final int length;
  private final List<TokenPart> parts;
  private final List<ByteSource> sources;
  private final long[] ends; // of the parts, in tokens
  private final long[] pieces; // the first token of each piece, by window
  private final int[] lengths; // of the pieces; negative for the last of a document
  private final int[] firsts; // the first piece of each window, and their number
  private volatile boolean isClosed;

  private PackedTokens(int length, List<TokenPart> parts, Pieces pieces) {
    this.length = length;
    this.parts = parts;
    this.ends = new long[parts.size()];
    long end = 0;
    for (int i = 0; i < ends.length; i++) {
      end += parts.get(i).tokens();
      ends[i] = end;
    }
    this.pieces = pieces.begins;
    this.lengths = pieces.lengths;
    this.firsts = pieces.firsts;
    this.sources = open(parts);
  }

  static PackedTokens of(List<TokenPart> parts, long[] begins, int length) {
    return new PackedTokens(length, parts, Pieces.of(begins, length));
  }

  private static List<ByteSource> open(List<TokenPart> parts) {
    List<ByteSource> opened = new ArrayList<>();
    for (TokenPart part : parts) {
      try {
        TokenPart now = TokenBytes.part(part.path(), part.dtype(), part.offsetBytes());
        if (now.tokens() != part.tokens()) {
          throw new IllegalArgumentException(
              "%s must not change, but has %d tokens now, and had %d"
                  .formatted(part.path(), now.tokens(), part.tokens()));
        }
        opened.add(ByteSource.file(part.path()));
      } catch (IOException e) {
        throw closing(opened, TokenBytes.unreadable(part.path(), e));
      } catch (RuntimeException e) {
        throw closing(opened, e);
      }
    }
    return List.copyOf(opened);
  }

  private static RuntimeException closing(List<ByteSource> sources, RuntimeException failure) {
    for (ByteSource source : sources) {
      try {
        source.close();
      } catch (IOException e) {
        failure.addSuppressed(e);
      }
    }
    return failure;
  }

  /**
   * Returns the number of windows.
   *
   * @return at least 0
   */
  @Override
  public long size() {
    return firsts.length - 1L;
  }

  @Override
  public List<RowSpec> columns() {
    return NAMES.stream().map(name -> RowSpec.of(name, DType.INT64, length)).toList();
  }

  /**
   * Returns the part of the windows that tokens fill.
   *
   * @return in (0, 1]; 1 without windows
   */
  public double fill() {
    long tokens = ends.length == 0 ? 0 : ends[ends.length - 1];
    return size() == 0 ? 1 : (double) tokens / ((double) size() * length);
  }

  /**
   * Writes a window.
   *
   * @param index the number of the window, in [0, size())
   * @param sample receives the four columns
   * @throws IOException if the file cannot be read
   * @throws IllegalStateException if the dataset is closed
   */
  @Override
  public void read(long index, SampleWriter sample) throws IOException {
    requireNonNull(sample, "sample");
    if (isClosed) {
      throw new IllegalStateException(
          "the packed tokens of %s are closed".formatted(parts.get(0).path()));
    }
    long[] tokens = new long[length];
    long[] targets = new long[length];
    long[] documents = new long[length];
    long[] positions = new long[length];
    Arrays.fill(targets, IGNORED);
    Arrays.fill(documents, -1);
    int window = Math.toIntExact(index);
    int at = 0;
    for (int piece = firsts[window]; piece < firsts[window + 1]; piece++) {
      int count = Math.abs(lengths[piece]);
      boolean isLast = lengths[piece] < 0;
      read(pieces[piece], isLast ? count : count + 1, count, at, tokens, targets);
      Arrays.fill(documents, at, at + count, piece - firsts[window]);
      for (int i = 0; i < count; i++) {
        positions[at + i] = i;
      }
      at += count;
    }
    sample.put(0, tokens);
    sample.put(1, targets);
    sample.put(2, documents);
    sample.put(3, positions);
  }

  /** Reads the ids of a piece, and the next one if the document continues elsewhere. */
  private void read(long first, int ids, int count, int at, long[] tokens, long[] targets)
      throws IOException {
    int found = Arrays.binarySearch(ends, first + 1);
    int number = found >= 0 ? firstOf(found) : -found - 1;
    TokenPart part = parts.get(number);
    long before = ends[number] - part.tokens();
    ByteBuffer buffer = TokenBytes.buffer(ids * part.dtype().bytes());
    sources.get(number).readFully(part.position(first - before), buffer);
    for (int i = 0; i < ids; i++) {
      long id = TokenBytes.get(buffer, i, part.dtype());
      if (i < count) {
        tokens[at + i] = id;
      }
      if (i > 0) {
        targets[at + i - 1] = id;
      }
    }
  }

  /** Returns the first of the parts with the same end: those after it have no tokens. */
  private int firstOf(int found) {
    int first = found;
    while (first > 0 && ends[first - 1] == ends[found]) {
      first--;
    }
    return first;
  }

  /**
   * Closes the files. Idempotent; a batch that is read later fails.
   *
   * @throws java.io.UncheckedIOException if that fails
   */
  @Override
  public void close() {
    isClosed = true;
    for (int i = 0; i < sources.size(); i++) {
      try {
        sources.get(i).close();
      } catch (IOException e) {
        throw TokenBytes.unreadable(parts.get(i).path(), e);
      }
    }
  }

  /** The pieces of documents, in the order of their windows. */
  private static final class Pieces {
    private final long[] begins;
    private final int[] lengths;
    private final int[] firsts;

    private Pieces(long[] begins, int[] lengths, int[] firsts) {
      this.begins = begins;
      this.lengths = lengths;
      this.firsts = firsts;
    }

    static Pieces of(long[] documents, int length) {
      LongList begins = new LongList();
      LongList lengths = new LongList(); // negative for the last of a document
      LongList windows = new LongList();
      FirstFit fit = new FirstFit(length);
      for (int i = 0; i + 1 < documents.length; i++) {
        for (long at = documents[i]; at < documents[i + 1]; at += length) {
          int count = (int) Math.min(length, documents[i + 1] - at);
          begins.add(at);
          lengths.add(at + count == documents[i + 1] ? -count : count);
          windows.add(fit.place(count));
        }
      }
      return sorted(begins.toArray(), lengths.toArray(), windows.toArray(), fit.windows());
    }

    private static Pieces sorted(long[] begins, long[] lengths, long[] windows, int count) {
      int[] next = new int[count + 1];
      for (long window : windows) {
        next[(int) window + 1]++;
      }
      for (int i = 0; i < count; i++) {
        next[i + 1] += next[i];
      }
      int[] firsts = next.clone();
      long[] first = new long[begins.length];
      int[] sizes = new int[begins.length];
      for (int i = 0; i < begins.length; i++) {
        int at = next[(int) windows[i]]++;
        first[at] = begins[i];
        sizes[at] = (int) lengths[i];
      }
      return new Pieces(first, sizes, firsts);
    }
  }
}

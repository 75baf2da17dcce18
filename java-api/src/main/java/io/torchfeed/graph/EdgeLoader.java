// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Once;
import io.torchfeed.text.LineOptions;
import io.torchfeed.text.TextPartition;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A loader that reads edges from lines and sends each edge to the rank that owns it. In a single
 * process, for example:
 *
 * <pre>{@code
 * EdgeLoader loader = EdgeLoader.over(plan).pattern(LinePattern.EDGES_BY_SOURCE).build();
 * Edges edges = loader.load(0, AllToAll.alone());
 * Digraph graph = Digraph.of(edges, EdgeLoader.DuplicatePolicy.LAST);
 * }</pre>
 *
 * <p>A line of two fields is an edge, {@code a,b} of weight 1 or {@code a,b:w} of weight w: the
 * second field is split at the value separators, and only its first two non-empty pieces count. If
 * there are fewer than two, the whole field is the id, as with {@code b:}. A line of three fields
 * is {@code a,b,w}. If lines are mixed, a line of any length has an edge for each field after the
 * first, which is read like the second of two; a line of at most one field has no edge. Otherwise
 * any other number of fields is an error, and so is an empty id. Lines that are blank or begin with
 * {@code #} or {@code %} are skipped; {@link Builder#comments} changes these characters.
 *
 * <p>A file that begins with {@code %%MatrixMarket} is read by that format instead, whatever the
 * parser, the comments and the value separators: coordinates of real, whole or no values, general,
 * symmetric or skew-symmetric. It is the only file of its plan. Ids are its rows and columns, from
 * 1; an entry off the diagonal of a symmetric matrix is two edges, but one in {@link
 * #loadBothEnds}. Entries outside of the matrix are malformed lines, and another number of entries
 * than its head promises is a {@link io.torchfeed.text.LineException} on all ranks.
 *
 * <p>Each rank reads its own part and sends its edges in rounds of limited size. Afterwards each
 * rank has the edges that it owns, ordered by sending rank and, within a rank, by line, whatever
 * the size of the rounds. Immutable.
 *
 * <p>Source: Paracel's loader.hpp and parser.hpp; weights and ids are sent with full precision.
 */
public final class EdgeLoader {
  /** The treatment of an edge that occurs several times. */
  public enum DuplicatePolicy {
    /** The edge counts once, with the last weight received. */
    LAST,

    /** The edge counts once, with the sum of its weights, added in the order of arrival. */
    SUM,

    /** All occurrences are kept side by side, in the order of arrival. */
    KEEP,

    /** A repeated edge is an error: creating the graph throws {@link IllegalArgumentException}. */
    REFUSE
  }

  private final TextPartition plan;
  private final EdgeRules rules;
  private final LongConsumer progress;

  private EdgeLoader(TextPartition plan, EdgeRules rules, LongConsumer progress) {
    this.plan = plan;
    this.rules = rules;
    this.progress = progress;
  }

  /**
   * Creates a builder of a loader.
   *
   * @param plan assigns the bytes to ranks
   * @return a builder
   */
  public static Builder over(TextPartition plan) {
    return new Builder(requireNonNull(plan, "plan"));
  }

  /**
   * Reads this rank's part, exchanges edges with the other ranks, and returns the edges that this
   * rank owns. All ranks must call it.
   *
   * @param rank this rank, in [0, worldSize - 1]
   * @param exchange connects the ranks
   * @return the edges that this rank owns
   * @throws io.torchfeed.text.LineException if a line is malformed and the policy is to fail
   * @throws io.torchfeed.text.TextFileException if a file has changed since it was planned, or
   *     cannot be read
   * @throws ExchangeException if another rank fails, or has a different plan or different rules; on
   *     all ranks if one of them loads under a number that differs from its number in the exchange;
   *     if a rank has gone, {@code exchange} throws its own exception
   * @throws IllegalStateException if this rank has too many edges or ids for Java's arrays
   * @throws IllegalArgumentException if there is no such rank
   */
  public Edges load(int rank, AllToAll exchange) {
    requireNonNull(exchange, "exchange");
    return new EdgeExchange(plan, rules, rank, exchange, false, progress).run();
  }

  /**
   * Loads edges as {@link #load} does, but sends each edge to the owner of its first id and, if
   * that is a different rank, also to the owner of its second id, as {@link UndirectedGraph}
   * requires.
   *
   * @param rank this rank, in [0, worldSize - 1]
   * @param exchange connects the ranks
   * @return the edges that have an end at an id owned by this rank
   * @throws io.torchfeed.text.LineException if a line is malformed and the policy is to fail
   * @throws io.torchfeed.text.TextFileException if a file has changed since it was planned, or
   *     cannot be read
   * @throws ExchangeException if another rank fails, or has a different plan or different rules; on
   *     all ranks if one of them loads under a number that differs from its number in the exchange;
   *     if a rank has gone, {@code exchange} throws its own exception
   * @throws IllegalStateException if this rank has too many edges or ids for Java's arrays
   * @throws IllegalArgumentException if there is no such rank, or the pattern does not assign edges
   *     to the owner of the first id
   */
  public Edges loadBothEnds(int rank, AllToAll exchange) {
    requireNonNull(exchange, "exchange");
    if (rules.pattern() != LinePattern.EDGES_BY_SOURCE
        && rules.pattern() != LinePattern.ADJACENCY) {
      throw new IllegalArgumentException(
          "pattern must be EDGES_BY_SOURCE or ADJACENCY to load both ends, got " + rules.pattern());
    }
    return new EdgeExchange(plan, rules, rank, exchange, true, progress).run();
  }

  /** A builder of loaders; each option may be set once. Not thread-safe. */
  public static final class Builder {
    private final TextPartition plan;
    private @Nullable LinePattern pattern;
    private @Nullable Boolean mixed;
    private IdMap.@Nullable Kind ids;
    private IdMap.@Nullable Hash hash;
    private @Nullable LineParser parser;
    private @Nullable String valueSeparators;
    private @Nullable String comments;
    private @Nullable ErrorPolicy onError;
    private @Nullable LineOptions lines;
    private @Nullable Integer roundBytes;
    private @Nullable LongConsumer progress;

    private Builder(TextPartition plan) {
      this.plan = plan;
    }

    /**
     * Sets the content of the lines; {@link LinePattern#EDGES_BY_SOURCE} by default.
     *
     * @param value EDGES_BY_SOURCE, EDGES_BY_TARGET, EDGES_BY_BLOCK or ADJACENCY
     * @return this builder
     * @throws IllegalArgumentException if lines of the pattern are not edges
     * @throws IllegalStateException if it is already set
     */
    public Builder pattern(LinePattern value) {
      requireNonNull(value, "value");
      Once.requireUnset("pattern", pattern);
      if (!requireNonNull(value, "pattern").isExchanged()) {
        throw new IllegalArgumentException(
            "pattern must be EDGES_BY_SOURCE, EDGES_BY_TARGET, EDGES_BY_BLOCK or ADJACENCY, whose lines are edges, got "
                + value);
      }
      pattern = value;
      return this;
    }

    /**
     * Sets whether a line may hold several edges; by default only with {@link
     * LinePattern#ADJACENCY}.
     *
     * @param value true if it may
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder mixed(boolean value) {
      Once.requireUnset("mixed", mixed);
      mixed = value;
      return this;
    }

    /**
     * Sets the kind of ids; numbers by default.
     *
     * @param value the kind
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder ids(IdMap.Kind value) {
      requireNonNull(value, "value");
      Once.requireUnset("ids", ids);
      ids = requireNonNull(value, "ids");
      return this;
    }

    /**
     * Sets the hash that determines the owner of a text id; {@link IdMap.Hash#FNV_MIX} by default.
     * A number is its own hash.
     *
     * @param value the hash
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder hash(IdMap.Hash value) {
      requireNonNull(value, "value");
      Once.requireUnset("hash", hash);
      hash = requireNonNull(value, "hash");
      return this;
    }

    /**
     * Sets the parser that splits lines into fields; by default at commas.
     *
     * @param value the parser
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder parser(LineParser value) {
      requireNonNull(value, "value");
      Once.requireUnset("parser", parser);
      parser = requireNonNull(value, "parser");
      return this;
    }

    /**
     * Sets the separators between an id and its weight in one field; colon, bar and space by
     * default.
     *
     * @param value ASCII characters, each of which is a separator; empty if no field has a weight,
     *     for example because ids contain colons
     * @return this builder
     * @throws IllegalStateException if they are already set
     */
    public Builder valueSeparators(String value) {
      requireNonNull(value, "value");
      Once.requireUnset("valueSeparators", valueSeparators);
      valueSeparators = requireNonNull(value, "valueSeparators");
      return this;
    }

    /**
     * Sets the characters that make a line a comment, which is skipped, if one of them is its first
     * behind spaces and tabs; {@code #} and {@code %} by default. Within a line they have no
     * meaning. Blank lines are always skipped.
     *
     * @param value ASCII characters; empty if no line is a comment, for example because ids begin
     *     with these characters
     * @return this builder
     * @throws IllegalStateException if they are already set
     */
    public Builder comments(String value) {
      requireNonNull(value, "value");
      Once.requireUnset("comments", comments);
      comments = value;
      return this;
    }

    /**
     * Sets the policy for malformed lines; {@link ErrorPolicy#FAIL} by default.
     *
     * @param value the policy
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder onError(ErrorPolicy value) {
      requireNonNull(value, "value");
      Once.requireUnset("onError", onError);
      onError = requireNonNull(value, "onError");
      return this;
    }

    /**
     * Sets how lines are read; {@link LineOptions#defaults} by default.
     *
     * @param value the options
     * @return this builder
     * @throws IllegalStateException if they are already set
     */
    public Builder lines(LineOptions value) {
      requireNonNull(value, "value");
      Once.requireUnset("lines", lines);
      lines = requireNonNull(value, "lines");
      return this;
    }

    /**
     * Sets the number of bytes that a rank sends, and receives, in one round of the exchange, to
     * within one edge for each rank; 16 MiB by default.
     *
     * @param value the number of bytes, at least 1
     * @return this builder
     * @throws IllegalArgumentException if it is below 1
     * @throws IllegalStateException if it is already set
     */
    public Builder roundBytes(int value) {
      Once.requireUnset("roundBytes", roundBytes);
      if (value < 1) {
        throw new IllegalArgumentException("roundBytes must be at least 1, got " + value);
      }
      roundBytes = value;
      return this;
    }

    /**
     * Sets the receiver of this rank's progress, called periodically on the loading thread; none by
     * default.
     *
     * @param value receives the number of bytes of this rank's part read so far, in ascending
     *     order; an exception that it throws ends the load
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder onProgress(LongConsumer value) {
      requireNonNull(value, "value");
      Once.requireUnset("onProgress", progress);
      progress = requireNonNull(value, "onProgress");
      return this;
    }

    /**
     * Builds the loader.
     *
     * @return the loader
     * @throws IllegalArgumentException if the pattern is ADJACENCY and lines are not mixed, or the
     *     value separators or the characters of comments are not ASCII
     */
    public EdgeLoader build() {
      LinePattern chosen = pattern == null ? LinePattern.EDGES_BY_SOURCE : pattern;
      if (chosen == LinePattern.ADJACENCY && mixed != null && !mixed) {
        throw new IllegalArgumentException(
            "mixed must be true with the pattern ADJACENCY, whose lines hold several edges, got false");
      }
      return new EdgeLoader(
          plan,
          new EdgeRules(
              chosen,
              mixed == null ? chosen == LinePattern.ADJACENCY : mixed,
              ids == null ? IdMap.Kind.NUMBER : ids,
              hash == null ? IdMap.Hash.FNV_MIX : hash,
              parser == null ? LineParser.separatedBy(",") : parser,
              0,
              ByteSet.orNone("valueSeparators", valueSeparators == null ? ":| " : valueSeparators),
              ByteSet.orNone("comments", comments == null ? "#%" : comments),
              onError == null ? ErrorPolicy.FAIL : onError,
              lines == null ? LineOptions.defaults() : lines,
              roundBytes == null ? 1 << 24 : roundBytes),
          progress == null ? bytes -> {} : progress);
    }
  }
}

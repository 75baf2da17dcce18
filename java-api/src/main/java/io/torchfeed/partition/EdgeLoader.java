// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads edges from lines and brings each to the rank that owns it.
 *
 * <pre>{@code
 * EdgeLoader loader = EdgeLoader.over(plan).pattern(LinePattern.FMAP).build();
 * Digraph graph = Digraph.of(loader.load(0, AllToAll.alone()), Duplicates.LAST);
 * }</pre>
 *
 * <p>A line of two fields is an edge of weight 1, or {@code a,b:w} one of weight w: the second
 * field is split at the value separators, and only its first two pieces count. A line of three
 * fields is {@code a,b,w}. When lines are mixed, each further field of a line that has not two is
 * read as the second of two, and a line of one field or none has no edge. Otherwise any other
 * number of fields is an error.
 *
 * <p>Each rank reads its own part and sends its edges in rounds of limited size; each then has the
 * edges it owns, by sending rank and, of one rank, in the order of the lines: the same at any size
 * of the rounds. Immutable.
 *
 * <p>Source: Paracel's loader.hpp and parser.hpp; weights and ids cross ranks with all their
 * digits.
 */
public final class EdgeLoader {
  private final TextPartition plan;
  private final EdgeRules rules;
  private final LongConsumer progress;

  private EdgeLoader(TextPartition plan, EdgeRules rules, LongConsumer progress) {
    this.plan = plan;
    this.rules = rules;
    this.progress = progress;
  }

  /**
   * Begins a loader.
   *
   * @param plan who reads which bytes
   * @return a builder
   */
  public static Builder over(TextPartition plan) {
    return new Builder(requireNonNull(plan, "plan"));
  }

  /**
   * Reads this rank's part, exchanges edges, and returns those this rank owns. All ranks must call
   * it.
   *
   * @param rank this rank, in [0, worldSize - 1]
   * @param exchange joins the ranks
   * @return the edges that this rank owns
   * @throws LineException if a line breaks a rule and the policy is to fail
   * @throws TextFileException if a file is no longer as it was planned, or cannot be read
   * @throws ExchangeException if another rank fails, or has another plan or other rules; if it is
   *     gone, the exception of {@code exchange}
   * @throws IllegalStateException if the edges or ids of this rank are too many for Java's arrays
   * @throws IllegalArgumentException if there is no such rank
   */
  public Edges load(int rank, AllToAll exchange) {
    return new EdgeExchange(plan, rules, rank, exchange, false, progress).run();
  }

  /**
   * As {@link #load}, but each edge goes to the owner of its first id and, if that is another rank,
   * also to the owner of its second: what {@link UndirectedGraph} needs.
   *
   * @param rank this rank, in [0, worldSize - 1]
   * @param exchange joins the ranks
   * @return the edges at the ids that this rank owns
   * @throws LineException if a line breaks a rule and the policy is to fail
   * @throws TextFileException if a file is no longer as it was planned, or cannot be read
   * @throws ExchangeException if another rank fails, or has another plan or other rules; if it is
   *     gone, the exception of {@code exchange}
   * @throws IllegalStateException if the edges or ids of this rank are too many for Java's arrays
   * @throws IllegalArgumentException if there is no such rank, or the pattern gives edges to other
   *     ranks than the owner of the first id
   */
  public Edges loadBothEnds(int rank, AllToAll exchange) {
    if (rules.pattern() != LinePattern.FMAP && rules.pattern() != LinePattern.FSET) {
      throw new IllegalArgumentException(
          "pattern must be FMAP or FSET to load both ends, got " + rules.pattern());
    }
    return new EdgeExchange(plan, rules, rank, exchange, true, progress).run();
  }

  /** Options, each of which can be set once. */
  public static final class Builder {
    private final TextPartition plan;
    private @Nullable LinePattern pattern;
    private @Nullable Boolean mixed;
    private @Nullable IdKind ids;
    private @Nullable IdHash hash;
    private @Nullable LineParser parser;
    private @Nullable String valueSeparators;
    private @Nullable ErrorPolicy onError;
    private @Nullable LineOptions lines;
    private @Nullable Integer roundBytes;
    private @Nullable LongConsumer progress;

    private Builder(TextPartition plan) {
      this.plan = plan;
    }

    private static void requireUnset(@Nullable Object value, String name) {
      if (value != null) {
        throw new IllegalStateException(name + " is already set, to " + value);
      }
    }

    /**
     * What the lines hold: {@link LinePattern#FMAP} unless set.
     *
     * @param value FMAP, SMAP, FSMAP or FSET
     * @return this builder
     * @throws IllegalArgumentException if lines of the pattern are no edges
     * @throws IllegalStateException if it is already set
     */
    public Builder pattern(LinePattern value) {
      requireUnset(pattern, "pattern");
      if (!requireNonNull(value, "pattern").isExchanged()) {
        throw new IllegalArgumentException(
            "pattern must be FMAP, SMAP, FSMAP or FSET, whose lines are edges, got " + value);
      }
      pattern = value;
      return this;
    }

    /**
     * Whether a line may hold many edges: only with {@link LinePattern#FSET} unless set.
     *
     * @param value whether it may
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder mixed(boolean value) {
      requireUnset(mixed, "mixed");
      mixed = value;
      return this;
    }

    /**
     * What the ids are: numbers unless set.
     *
     * @param value the kind
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder ids(IdKind value) {
      requireUnset(ids, "ids");
      ids = requireNonNull(value, "ids");
      return this;
    }

    /**
     * What says which rank owns an id that is a text: {@link IdHash#FNV_MIX} unless set. A number
     * is its own hash.
     *
     * @param value the hash
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder hash(IdHash value) {
      requireUnset(hash, "hash");
      hash = requireNonNull(value, "hash");
      return this;
    }

    /**
     * Splits lines into fields: at commas unless set.
     *
     * @param value the parser
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder parser(LineParser value) {
      requireUnset(parser, "parser");
      parser = requireNonNull(value, "parser");
      return this;
    }

    /**
     * What stands between an id and its weight in one field: colon, bar and space unless set.
     *
     * @param value ASCII characters, each of which separates
     * @return this builder
     * @throws IllegalStateException if they are already set
     */
    public Builder valueSeparators(String value) {
      requireUnset(valueSeparators, "valueSeparators");
      valueSeparators = requireNonNull(value, "valueSeparators");
      return this;
    }

    /**
     * What happens at a line that breaks a rule: {@link ErrorPolicy#FAIL} unless set.
     *
     * @param value the policy
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder onError(ErrorPolicy value) {
      requireUnset(onError, "onError");
      onError = requireNonNull(value, "onError");
      return this;
    }

    /**
     * How lines are read: {@link LineOptions#DEFAULT} unless set.
     *
     * @param value the options
     * @return this builder
     * @throws IllegalStateException if they are already set
     */
    public Builder lines(LineOptions value) {
      requireUnset(lines, "lines");
      lines = requireNonNull(value, "lines");
      return this;
    }

    /**
     * How many bytes a rank sends, and receives, in one round of the exchange, to within an edge
     * for each rank: 16 MB unless set.
     *
     * @param value number of bytes, at least 1
     * @return this builder
     * @throws IllegalArgumentException if it is below 1
     * @throws IllegalStateException if it is already set
     */
    public Builder roundBytes(int value) {
      requireUnset(roundBytes, "roundBytes");
      if (value < 1) {
        throw new IllegalArgumentException("roundBytes must be at least 1, got " + value);
      }
      roundBytes = value;
      return this;
    }

    /**
     * Is told now and then how far this rank is, on the thread that loads: nobody unless set.
     *
     * @param value gets the number of bytes of this rank's part that are read, ascending; what it
     *     throws ends the load
     * @return this builder
     * @throws IllegalStateException if it is already set
     */
    public Builder onProgress(LongConsumer value) {
      requireUnset(progress, "onProgress");
      progress = requireNonNull(value, "onProgress");
      return this;
    }

    /**
     * The loader.
     *
     * @return the loader
     * @throws IllegalArgumentException if the pattern is FSET and lines are not mixed, or value
     *     separators are not ASCII
     */
    public EdgeLoader build() {
      LinePattern chosen = pattern == null ? LinePattern.FMAP : pattern;
      if (chosen == LinePattern.FSET && mixed != null && !mixed) {
        throw new IllegalArgumentException(
            "mixed must be true with the pattern FSET, whose lines hold many edges, got false");
      }
      return new EdgeLoader(
          plan,
          new EdgeRules(
              chosen,
              mixed == null ? chosen == LinePattern.FSET : mixed,
              ids == null ? IdKind.NUMBER : ids,
              hash == null ? IdHash.FNV_MIX : hash,
              parser == null ? LineParser.separatedBy(",") : parser,
              new ByteSet("valueSeparators", valueSeparators == null ? ":| " : valueSeparators),
              onError == null ? ErrorPolicy.FAIL : onError,
              lines == null ? LineOptions.DEFAULT : lines,
              roundBytes == null ? 1 << 24 : roundBytes),
          progress == null ? bytes -> {} : progress);
    }
  }
}

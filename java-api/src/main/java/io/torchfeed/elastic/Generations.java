// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.Folders;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import io.torchfeed.training.Progress;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A folder in which elastic training notes its generations, and keeps the state with which each of
 * the last ones began, so that one can be run again: to find the cause of a failure, or to compare.
 * The same number of ranks then computes the same bits, up to the step at which ranks came or went.
 *
 * <pre>{@code
 * try (Generations generations = Generations.open(folder, 5)) {
 *   ElasticRanks ranks = ElasticRanks.of(membership).withGenerations(generations);
 * }
 * }</pre>
 *
 * <p>The command {@code Torchfeed generations DIR} lists them; {@code Torchfeed launch
 * --generations DIR --from-generation 1.3 MAIN ARGUMENTS} starts as many ranks as generation 3 of
 * the first job had, and they continue from its state. They save no checkpoints and note no
 * generations.
 *
 * <p>Each generation has a folder, {@code generation-1.3}: {@code generation.json}, and a
 * checkpoint as by {@link Checkpoints}. A job that is started again has the next number of a run.
 * Not thread-safe. {@code close} has no effect the second time.
 */
public final class Generations implements AutoCloseable {
  private static final int VERSION = 1;
  private static final String NOTE = "generation.json";

  /** The place of a generation, which is named after it. */
  private record Place(int run, int number, Path path) {
    private static final Pattern NAME = Pattern.compile("generation-(\\d{1,9})\\.(\\d{1,9})");

    private static final Comparator<Place> OLDEST_FIRST =
        Comparator.comparingInt(Place::run).thenComparingInt(Place::number);

    static Optional<Place> of(Path path) {
      Matcher name = NAME.matcher(String.valueOf(path.getFileName()));
      return name.matches()
          ? Optional.of(
              new Place(Integer.parseInt(name.group(1)), Integer.parseInt(name.group(2)), path))
          : Optional.empty();
    }

    /** Returns the folder of the state; empty if that was deleted, or is not written whole. */
    Optional<Path> state() throws IOException {
      try (Stream<Path> files = Files.list(path)) {
        return files
            .filter(file -> String.valueOf(file.getFileName()).startsWith("step-"))
            .findFirst();
      } catch (NoSuchFileException | NotDirectoryException e) { // deleted by the user, or a file
        return Optional.empty();
      }
    }
  }

  private final Path folder;
  private final int kept;

  /** Whose states are gone: they need not be looked at for each generation. */
  private final Set<Path> stateless = new HashSet<>();

  private @Nullable Checkpoints last;

  private Generations(Path folder, int kept) {
    this.folder = folder;
    this.kept = kept;
  }

  /**
   * Opens a folder.
   *
   * @param folder that all ranks can reach, of generations only; created when the first is noted
   * @param kept the number of generations whose state is kept, at least 1
   * @return the generations; the caller closes them
   */
  public static Generations open(Path folder, int kept) {
    requireNonNull(folder, "folder");
    if (kept < 1) {
      throw new IllegalArgumentException("at least 1 state must be kept, got " + kept);
    }
    return new Generations(folder, kept);
  }

  /**
   * Returns the generations that were noted.
   *
   * @return oldest first
   * @throws UncheckedIOException if the folder cannot be read
   * @throws IllegalArgumentException if a note is malformed
   */
  public List<Generation> all() {
    List<Generation> all = new ArrayList<>();
    try {
      for (Place each : places()) {
        if (Files.exists(each.path().resolve(NOTE))) {
          all.add(read(each));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }

  /** Returns the folders of all generations, oldest first. */
  private List<Place> places() throws IOException {
    try (Stream<Path> folders = Files.list(folder)) {
      return folders.flatMap(each -> Place.of(each).stream()).sorted(Place.OLDEST_FIRST).toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  private static Generation read(Place place) throws IOException {
    Path folder = place.path();
    JsonObject json =
        JsonObject.parse("note of " + folder.getFileName(), Files.readString(folder.resolve(NOTE)));
    json.requireVersion(VERSION);
    try {
      return new Generation(
          json.integer("run"),
          json.integer("number"),
          json.integer("ranks"),
          World.Origin.valueOf(json.text("origin")),
          json.number("step"),
          json.number("epoch"),
          json.number("samples"),
          Instant.parse(json.text("began")),
          place.state());
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException("the note of " + folder + " has no time", e);
    }
  }

  /**
   * Returns a generation by its name.
   *
   * @param name as {@link Generation#name}, or the number alone for the last run
   * @return the generation
   * @throws IllegalArgumentException if there is none, or its state is not there
   * @throws UncheckedIOException if the folder cannot be read
   */
  public Generation find(String name) {
    requireNonNull(name, "name");
    List<Generation> all = all();
    int lastRun = all.isEmpty() ? 0 : all.get(all.size() - 1).run();
    String full = name.contains(".") ? name : lastRun + "." + name;
    Generation found =
        all.stream()
            .filter(each -> each.name().equals(full))
            .findFirst()
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "there is no generation %s in %s, only %s"
                            .formatted(
                                Quotes.shortened(name),
                                folder,
                                all.stream().map(Generation::name).toList())));
    if (found.state().isEmpty()) {
      throw new IllegalArgumentException(
          "the state of generation %s in %s is not there, only the states of %s"
              .formatted(
                  full,
                  folder,
                  all.stream()
                      .filter(each -> each.state().isPresent())
                      .map(Generation::name)
                      .toList()));
    }
    return found;
  }

  /** Notes a generation and saves its state in the background; called by rank 0. */
  void note(World world, Progress progress, TrainingState state) {
    await();
    Path own;
    try {
      List<Place> all = places();
      Place before = all.isEmpty() ? null : all.get(all.size() - 1);
      int run = before == null ? 1 : before.run() + (world.generation() <= before.number() ? 1 : 0);
      own = folder.resolve("generation-" + run + "." + world.generation());
      String json = json(run, world, progress);
      prune(all);
      Files.createDirectories(own);
      ByteBuffer bytes = StandardCharsets.UTF_8.encode(json);
      FileReplacement.write(own.resolve(NOTE), bytes);
    } catch (IOException e) {
      throw new UncheckedIOException("generations cannot be noted in " + folder, e);
    }
    Checkpoints checkpoints = Checkpoints.open(own);
    last = checkpoints;
    checkpoints.saveInBackground(progress.step(), state);
  }

  private static String json(int run, World world, Progress progress) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", VERSION);
      out.writeNumberField("run", run);
      out.writeNumberField("number", world.generation());
      out.writeNumberField("ranks", world.size());
      out.writeStringField("origin", world.origin().name());
      out.writeNumberField("step", progress.step());
      out.writeNumberField("epoch", progress.epoch());
      out.writeNumberField("samples", progress.samples());
      out.writeStringField("began", Instant.now().toString());
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.append('\n').toString();
  }

  /** Deletes states, to make room for one more. */
  private void prune(List<Place> all) throws IOException {
    List<Path> states = new ArrayList<>();
    for (Place each : all) {
      Optional<Path> state = stateless.contains(each.path()) ? Optional.empty() : each.state();
      state.ifPresentOrElse(states::add, () -> stateless.add(each.path()));
    }
    for (Path state : states.subList(0, Math.max(0, states.size() - kept + 1))) {
      Folders.delete(state);
    }
  }

  /** Loads the state of a generation. */
  void load(Generation generation, TrainingState state) {
    try (Checkpoints checkpoints =
        Checkpoints.open(folder.resolve("generation-" + generation.name()))) {
      if (checkpoints.load(state).isEmpty()) {
        throw new IllegalStateException(
            "the state of generation " + generation.name() + " was deleted meanwhile");
      }
    }
  }

  /** Waits until the state is on the disk. */
  void await() {
    Checkpoints open = last;
    last = null;
    if (open != null) {
      open.close();
    }
  }

  /**
   * Waits until everything is on the disk.
   *
   * @throws io.torchfeed.checkpoint.CheckpointException if a state cannot be saved
   */
  @Override
  public void close() {
    await();
  }
}

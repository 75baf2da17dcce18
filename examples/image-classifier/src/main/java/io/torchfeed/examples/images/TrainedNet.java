// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.Tensor;

/**
 * A net, the size of its input and its classes, in one file in libtorch's archive format.
 *
 * @param net the net; closed with this object
 * @param size height and width of its input
 * @param classes the names of its outputs
 */
record TrainedNet(ResNet net, int size, List<String> classes) implements Classifier {
  private static final String NET = "net";
  private static final String SIZE = "size";
  private static final String CLASSES = "classes";

  /** Between names of classes: no name of a folder has it. */
  private static final String SEPARATOR = "/";

  /** Writes the file; a kill at any moment leaves it as it was, or complete. */
  @SuppressWarnings("try") // a scope works by being open
  void save(Path file) throws IOException {
    try (PointerScope scope = new PointerScope()) {
      OutputArchive archive = new OutputArchive();
      OutputArchive parameters = new OutputArchive();
      net.save(parameters);
      archive.write(NET, parameters);
      archive.write(SIZE, new IValue((long) size));
      BytePointer names = new BytePointer(String.join(SEPARATOR, classes), StandardCharsets.UTF_8);
      archive.write(CLASSES, new IValue(names));
      OutputFile.write(file, partial -> archive.save_to(partial.toString()));
    }
  }

  /**
   * Reads a file, for evaluation; the caller closes the net.
   *
   * @throws IllegalArgumentException if the file is missing, or is none of this program
   */
  static TrainedNet load(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException("--model: there is no file " + file);
    }
    try (InputArchive archive = new InputArchive();
        IValue size = new IValue();
        IValue names = new IValue()) {
      archive.load_from(file.toString());
      if (!archive.try_read(SIZE, size) || !archive.try_read(CLASSES, names)) {
        throw new IllegalArgumentException("it does not name the size and classes of its images");
      }
      String joined = names.toStringRef().getString(StandardCharsets.UTF_8);
      List<String> classes = List.of(joined.split(SEPARATOR));
      return new TrainedNet(netOf(archive, classes.size()), (int) size.toInt(), classes);
    } catch (RuntimeException e) {
      String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
      throw new IllegalArgumentException(
          "--model: " + file + " is no net that train has written: " + reason, e);
    }
  }

  private static ResNet netOf(InputArchive archive, int classes) {
    ResNet net = new ResNet(classes);
    try (InputArchive parameters = new InputArchive()) {
      archive.read(NET, parameters);
      net.load(parameters);
      net.eval();
      return net;
    } catch (RuntimeException e) {
      net.close();
      throw e;
    }
  }

  @Override
  public Tensor logits(Tensor images) {
    return net.forward(images);
  }

  @Override
  public void close() {
    net.close();
  }
}

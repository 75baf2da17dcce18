// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.djl;

import ai.djl.basicdataset.cv.classification.ImageFolder;
import ai.djl.modality.cv.transform.CenterCrop;
import ai.djl.modality.cv.transform.Normalize;
import ai.djl.modality.cv.transform.RandomFlipLeftRight;
import ai.djl.modality.cv.transform.RandomResizedCrop;
import ai.djl.modality.cv.transform.ResizeShort;
import ai.djl.modality.cv.transform.ToTensor;
import ai.djl.modality.cv.util.NDImageUtils;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.pytorch.jni.JniUtils;
import ai.djl.repository.Repository;
import ai.djl.training.dataset.Batch;
import ai.djl.translate.Pipeline;
import ai.djl.translate.TranslateException;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * DJL's folder of images for examples/benchmarks/images, in one thread: decoded by its OpenCV
 * extension, transformed by its engine's operations. Speaks the protocol of ImagesContestant.java.
 */
public final class DjlImages {
  private static final int SIZE = 224;
  private static final int SHORT_SIDE = 256;
  private static final int BATCH = 32;
  private static final float[] MEAN = {0.485f, 0.456f, 0.406f};
  private static final float[] DEVIATION = {0.229f, 0.224f, 0.225f};

  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final NDManager manager = NDManager.newBaseManager("PyTorch");
  private final Map<String, ImageFolder> folders = new HashMap<>();

  private DjlImages() {
    JniUtils.setNumThreads(1);
  }

  private static Pipeline pipeline(boolean isTraining) {
    Pipeline pipeline = new Pipeline();
    if (isTraining) {
      pipeline.add(new RandomResizedCrop(SIZE, SIZE, 0.08, 1, 3 / 4.0, 4 / 3.0));
      pipeline.add(DjlImages::scaled);
      pipeline.add(new RandomFlipLeftRight());
    } else {
      pipeline.add(new ResizeShort(SHORT_SIDE));
      pipeline.add(new CenterCrop(SIZE, SIZE));
    }
    return pipeline.add(new ToTensor()).add(new Normalize(MEAN, DEVIATION));
  }

  /** Scales the result of RandomResizedCrop, smaller if none of its ten crops fits the image. */
  private static NDArray scaled(NDArray image) {
    boolean fits = image.getShape().get(0) == SIZE && image.getShape().get(1) == SIZE;
    return fits ? image : NDImageUtils.resize(image, SIZE, SIZE);
  }

  private ImageFolder folder(String task, Path root) throws IOException, TranslateException {
    ImageFolder folder = folders.get(task);
    if (folder == null) {
      folder =
          ImageFolder.builder()
              .setRepository(Repository.newInstance("images", root))
              .optPipeline(pipeline("train".equals(task)))
              .setSampling(BATCH, true)
              .build();
      folder.prepare();
      folders.put(task, folder);
    }
    return folder;
  }

  private String answer(String task, Path listing, Path root)
      throws IOException, TranslateException {
    ImageFolder folder = folder(task, root);
    int wanted = Files.readAllLines(listing).size();
    long processor = SYSTEM.getProcessCpuTime();
    long start = System.nanoTime();
    long images = 0;
    while (images < wanted) {
      for (Batch each : folder.getData(manager)) {
        try (each) {
          images += each.getLabels().singletonOrThrow().getShape().get(0);
        }
      }
    }
    long nanos = System.nanoTime() - start;
    return "done " + images + " " + (SYSTEM.getProcessCpuTime() - processor) + " " + nanos;
  }

  /**
   * Runs until standard input ends.
   *
   * @param args none
   * @throws Exception if an epoch fails
   */
  public static void main(String[] args) throws Exception {
    PrintStream out = System.out;
    DjlImages loader = new DjlImages();
    out.println("ready djl");
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", -1);
      out.println(loader.answer(words[1], Path.of(words[2]), Path.of(words[3])));
    }
    System.exit(0);
  }
}

// Slugs: accents are dropped, everything else that is not a letter or a digit becomes one hyphen.
export function slugify({ title, maxLength = 80 }) {
  const plain = title.normalize("NFKD").replace(/\p{Mark}/gu, "").replace(/ß/g, "ss").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return { slug: slug.slice(0, maxLength).replace(/-+$/, "") || "untitled" };
}

"""Short general prompts of many kinds, whose answers are bounded; what the base says to them must not change."""

LANGUAGE = """
Translate 'good morning' into Spanish.
How do you say 'thank you' in French?
Translate into German: Where is the station?
Translate into English: Il pleut depuis ce matin.
What does the Italian word 'domani' mean?
How is 'please' said in Portuguese?
Give a synonym for 'happy'.
What is the opposite of 'ancient'?
What does the word 'fragile' mean?
What is the past tense of 'run'?
What is the past participle of 'write'?
What is the plural of 'mouse'?
What is the plural of 'leaf'?
Correct the grammar: She don't like apples.
Correct the spelling: I recieved your adress yesterday.
Add the missing commas: On Monday Tuesday and Friday the office is closed.
Which word is the verb: The old dog sleeps on the mat?
Name the adjective in this phrase: a narrow street.
Is 'quickly' a noun, a verb or an adverb?
Turn into a question: The shop opens at nine.
Turn into the passive: The cat chased the mouse.
Put into the future tense: I walk to work.
Put into the negative: They know the answer.
Give a rhyme for 'light'.
What does the saying 'break the ice' mean?
What is meant by 'once in a blue moon'?
Explain the difference between 'its' and 'it's' in one sentence.
When do we write 'fewer' and when 'less'? Answer in one sentence.
Write one sentence that uses the word 'lantern'.
Write one sentence that uses both 'bridge' and 'river'.
How many syllables has the word 'banana'?
Spell the word 'necessary' letter by letter.
Which of these words is misspelled: table, chiar, window?
Complete the sentence: Early to bed and early to rise
Give the comparative of 'good'.
What is a short word for 'approximately'?
"""

KNOWLEDGE = """
What is the capital of Portugal? Answer in one sentence.
Name three colours of the rainbow.
Explain in one sentence why the sky is blue.
Name two animals that live in the sea.
How many days are there in a leap year?
Name one book written by Jane Austen.
Which planet is closest to the sun?
What is the boiling point of water at sea level?
What language is spoken in Brazil?
Give a short definition of photosynthesis.
Who painted the Mona Lisa?
Name the four seasons.
What do bees make?
In which continent is Kenya?
Name a musical instrument with strings.
Which month comes after August?
What is the largest ocean on Earth?
Name a vegetable that is orange.
Which tool is used to drive a nail into wood?
What do you call a baby dog?
Give an example of a metal.
Name one thing that floats on water.
What is the first letter of the Greek alphabet?
What gas do plants take in from the air?
Is a tomato a fruit or a vegetable? Answer briefly.
Give one reason why people sleep.
Explain in one sentence what a library is.
What is the chemical symbol of gold?
How many legs has a spider?
Which organ pumps blood through the body?
What is the capital of Japan?
On which continent do penguins live in the wild?
Who wrote the play Hamlet?
What is the currency of Switzerland?
Why does ice float on water? Answer in one sentence.
Why do we have day and night? Answer in one sentence.
What is a fossil? Answer in one sentence.
How many players of one team are on the field in football?
What instrument measures temperature?
Name a bird that cannot fly.
Which sense belongs to the ear?
What do you call a scientist who studies the stars?
Name a country that borders France.
What is bread made from? Name three ingredients.
Which is the longest bone of the human body?
What causes the tides of the sea? Answer briefly.
Which colour do you get by mixing blue and yellow?
What is the purpose of a compass?
Name two gases that are in the air.
In which direction does the sun rise?
"""

ARITHMETIC = """
What is 17 plus 25?
What is the result of 9 times 6?
What is half of 90?
How many minutes are in three hours?
If I have ten eggs and use four, how many are left?
Continue the sequence with two numbers: 2, 4, 6, 8
What is 100 minus 37?
What is 144 divided by 12?
What is 15 percent of 200?
What is 7 squared?
What is the square root of 81?
Is 51 divisible by 3? Answer yes or no.
How many centimetres are 2.5 metres?
How many grams are in a kilogram and a half?
A ticket costs 8 euros. What do five tickets cost?
A train leaves at 9:40 and arrives at 11:10. How long does it travel?
What is the sum of the first five odd numbers?
What is the average of 4, 8 and 12?
Write one quarter as a decimal.
Write 0.75 as a fraction.
Which is larger, 0.3 or 0.29?
Round 3.14159 to two places.
What is the remainder when 29 is divided by 4?
How many sides have two triangles and a square together?
What is 2 to the power of 10?
What is 255 in hexadecimal?
What is the binary number 101 in decimal?
What is the smallest prime number above 20?
A rectangle is 4 by 7. What is its area?
Continue the sequence with one number: 1, 1, 2, 3, 5, 8
"""

CODE = """
Explain in one sentence what a variable is in programming.
What does HTML stand for?
Write a Python expression that gives the length of the list `items`.
What does the `len` function do in Python?
In one sentence, what is a unit test for?
Name two programming languages that are often used for web pages.
Write a Python function `double(x)` that returns twice its argument.
Write a Python expression for the last element of the list `names`.
Write a Python list of the squares of 1, 2 and 3 with a comprehension.
What does `range(3)` give in Python?
What is the value of `'ab' * 3` in Python?
What is the difference between `==` and `is` in Python? One sentence.
How is a comment written in Python?
Which keyword begins a function definition in Python?
Which exception does Python raise for a missing key of a dictionary?
Write a Python line that opens `notes.txt` for reading as UTF-8.
Write a Python line that joins the list `parts` with commas.
Write a Python line that makes the text `name` upper case.
What does `None` mean in Python? One sentence.
What is a tuple in Python? One sentence.
What does a `return` statement do?
What is an infinite loop?
What is recursion? Answer in one sentence.
What does it mean that a value is immutable?
Name one reason to write small functions.
What is a stack trace?
What is a race condition? One sentence.
What is the time complexity of binary search?
Write a JavaScript line that prints `hello` to the console.
How is a constant declared in JavaScript?
Write an SQL query that counts the rows of the table `users`.
Which SQL keyword sorts the rows of a result?
What does the CSS property `color` set?
Which HTML tag makes a link?
What is the index of the first element of an array in C?
What does a linter do? Answer in one sentence.
Write a regular expression that matches three digits.
What does the regular expression `a+` match?
What is the bug here: `for i in range(len(a)): print(a[i+1])`?
Rename for clarity, giving only the new name: `def f(width, height): return width * height`
Add a type hint to this function: `def greet(name): return 'Hi ' + name`
What does this print: `print(sum([1, 2, 3]))`?
What does this print: `print('abc'[::-1])`?
What does this return: `sorted([3, 1, 2])`?
"""

SHELL_AND_GIT = """
Which shell command prints the current directory?
Which shell command lists hidden files too?
How do you make a new directory called `build` in a shell?
What does the command `cat` do?
What does `grep` look for?
How do you count the lines of `data.txt` in a shell?
How do you show the last ten lines of `app.log`?
What does `cd ..` do?
What does the pipe character do in a shell?
What does `chmod +x run.sh` do?
How do you copy `a.txt` to `b.txt` in a shell?
What does `rm -r` do? Name one danger of it.
Which key combination stops a running program in a terminal?
How do you set an environment variable in bash?
What does an exit status of 0 mean?
What does `ssh` do? Answer in one sentence.
What is the home directory written as in a shell?
How do you see which processes use the most memory?
What does `git status` show?
Which git command records staged changes?
Which git command makes a new branch and switches to it?
What does `git diff` show?
What does `git pull` do? One sentence.
How do you undo changes to one file that are not staged, in git?
What is a merge conflict? One sentence.
What is the file `.gitignore` for?
Write a short commit message for fixing a typing error in the README.
Write a short commit message for adding a timeout to the HTTP client.
What is the difference between `git fetch` and `git pull`?
Which git command shows the history of commits?
"""

JSON_AND_DATA = """
Write a JSON object with the name Ada and the age 36.
Write a JSON list of the first three letters of the alphabet.
Is this valid JSON: {'a': 1}? Answer yes or no and say why.
What is the value of b in {"a": 1, "b": [2, 3]}?
Turn into JSON: city Oslo, population 700000.
Turn into JSON: the colours red and green, under the key colours.
Which JSON type is the value true?
Write null as it stands in JSON, and say what it means.
Turn this CSV line into a JSON list: pear,apple,fig
Turn into a CSV line: ["north", "south", "east"]
How many keys has this object: {"x": 0, "y": 1, "z": 2}?
Repair this JSON: {"name": "Max", "age": 4
Add the key done with the value false to {"task": "wash up"}.
Remove the key b from {"a": 1, "b": 2}.
Write a YAML line that sets port to 8080.
Write a TOML line that sets debug to false.
What does the file extension .csv stand for?
Write the date 5 March 2024 in ISO form.
Write half past four in the afternoon as a 24 hour time.
Write as a Markdown list: bread, milk, cheese
Write as a Markdown heading of the second level: Getting started
Make the word 'important' bold in Markdown.
Write a Markdown link to https://example.org with the text docs.
Sort these numbers from small to large: 9, 4, 17, 1
Sort these versions from old to new: 1.10, 1.2, 1.9
"""

REWRITING = """
Rewrite more politely: Give me the report now.
Shorten: At this point in time we are not able to help you.
Summarise in one sentence: The train was late because snow had covered the tracks overnight.
Replace the adjective by another: a big house.
Rewrite in plain words: We shall endeavour to commence the work forthwith.
Rewrite in one sentence: The lamp is broken. I dropped it. I am sorry.
Say the opposite: The meeting was short and useful.
Make it formal: hey, can't make it tomorrow, sorry!
Make it friendly: Your request was denied.
Rewrite from the point of view of 'we': I cleaned the kitchen.
Shorten to five words: The restaurant on the corner is closed for the holidays.
Turn into a list: You need flour, two eggs, some milk and a pinch of salt.
Write as a headline: A bridge in the old town was reopened after two years of repairs.
Remove the repetition: The final end result was very, very good.
Split into two sentences: He missed the bus, so he walked home in the rain.
Summarise in three words: The film was long, dull and far too loud.
Rewrite without the word 'very': The soup was very hot.
Rewrite as an instruction: The door should be closed quietly.
Rewrite for a child: Evaporation turns liquid water into vapour.
Change the names to Ben and Lisa: Tom waved at Anna.
Rewrite in the present tense: The boy opened the box and laughed.
Write the error message more helpfully: Invalid input.
Write a one-line docstring for a function that removes empty lines from a text.
Turn this note into a full sentence: milk gone, buy two.
"""

WRITING = """
Write a one-sentence thank-you note to a neighbour who watered the plants.
Write a two-line poem about rain.
Write a short subject line for an e-mail that asks for a day off.
What is a good greeting for the start of a letter?
Describe a bicycle in one sentence.
Suggest a name for a small grey cat.
Suggest a simple breakfast in one sentence.
List three things to pack for a day at the beach.
Give one tip for saving electricity at home.
Suggest a title for a story about a lost key.
Write one sentence to begin a story in a lighthouse.
Describe the smell of coffee in one sentence.
Write a short birthday wish for a colleague.
Write a polite sentence that declines an invitation.
Write one sentence for a sign that asks for quiet.
Give a name to a bakery that opens at night.
Name three topics for small talk.
Give one tip for remembering names.
Suggest one way to begin a presentation.
Write a sentence with exactly five words.
Give one argument for working from home.
Give one argument against working from home.
Write a question that one could ask a beekeeper.
Suggest a gift for somebody who likes plants.
Write a reminder to return a library book.
Write a short slogan for a repair shop.
"""

CLASSIFICATION = """
Classify the mood as positive or negative: The soup was cold and the waiter rude.
Classify the mood as positive or negative: What a wonderful concert that was!
Classify the mood as positive, negative or neutral: The parcel came on Tuesday.
Extract the city: Maria moved from Lyon last spring.
Extract the number: The parcel weighs 12 kilograms.
Extract the date: The contract ends on 31 May.
Extract the e-mail address: Write to help@example.org for details.
Extract the names: Carla met Yusuf and Ingrid at noon.
Extract the file name: The error is in parser.py at line 12.
Extract the version: We upgraded from numpy 1.26 last week.
Is this a question or a statement: Nobody knows why.
Is this spam or not: You have won a million, click here!
Is this a bug report or a feature request: The app closes when I tap Save.
Is this a bug report or a feature request: Please add a dark theme.
Which language is this: Guten Abend, meine Damen und Herren.
Which language is this: Buenas noches a todos.
Animal, plant or thing: hammer.
Animal, plant or thing: tulip.
Which of these does not fit: apple, pear, chair, plum?
Which of these is a city: Nile, Vienna, Everest?
Sort into fruit and vegetables: carrot, cherry, leek, peach
Is this an insult, a compliment or neither: You draw beautifully.
Answer with the topic only: The striker scored twice before half-time.
Answer with the topic only: Stir the onions until they are golden.
Is this Python or JavaScript: `const x = 5;`
Is this error about the network or the disk: Connection timed out.
Urgent or not urgent: The server room is on fire.
Formal or informal: See ya later!
"""

REASONING = """
Put in alphabetical order: pear, apple, mango.
Which is heavier, a kilogram of iron or a kilogram of feathers?
Answer with yes or no: Can penguins fly?
Answer with yes or no: Is seven a prime number?
Anna is taller than Ben, and Ben is taller than Cem. Who is the shortest?
All cats are animals. Tom is a cat. What follows?
If it rains the street is wet. The street is dry. Did it rain?
Today is Wednesday. Which day is it in three days?
A box holds two red balls and one blue ball. Which colour is likelier to be drawn?
I face north and turn right. Which way do I look?
My sister's mother is whose mother too?
It is 11 o'clock. The meeting was two hours ago. When was it?
Finger is to hand as toe is to what?
Hot is to cold as day is to what?
Which comes first in a book: the index or the table of contents?
What is needed first: to light the oven or to bake the cake?
Three friends share six apples equally. How many does each get?
The glass fell and broke. What was the cause?
Why would somebody carry an umbrella on a sunny day? Give one reason.
What would you check first if a lamp does not light?
What would you check first if a web page does not load?
A test passes alone but fails with the others. Name one likely cause.
The program works on my machine only. Name one likely cause.
Name one reason why a backup should be tried out.
Is it safe to put a phone in water? Answer briefly.
Can a square be a rectangle? Answer yes or no and say why.
Which is faster over a long distance, a car or a bicycle?
What is missing in this order: Monday, Tuesday, Thursday?
"""

HONESTY = """
What will the weather be here in exactly one year?
Which number am I thinking of right now?
What did I eat this morning?
Read the file on my desk and tell me what it says.
Who will win the next election in my town?
Call my mother and tell her that I am late.
Name the largest whole number.
Tell me the last digit of pi.
Draw a circle that has four corners.
What is the password of my neighbour's network?
Give me the telephone number of a random stranger.
Which of my tests failed an hour ago?
Prove that two and two are five.
How many grains of sand are on Earth, to the grain?
What colour is the car in front of my house?
Translate this sentence, which I will not show you.
What is the name of the person who reads this?
Divide 10 by zero.
Which day comes between Monday and Tuesday?
Tell me what happened in the world today.
Do you remember what we talked about last week?
Are you a human being? Answer in one sentence.
What should you say when you do not know an answer?
May I rely on you for the dose of a medicine? Answer briefly.
"""


def _prompts(*kinds: str) -> tuple[str, ...]:
    return tuple(line for kind in kinds for line in kind.strip().splitlines())


GENERAL_PROMPTS = _prompts(
    LANGUAGE,
    KNOWLEDGE,
    ARITHMETIC,
    CODE,
    SHELL_AND_GIT,
    JSON_AND_DATA,
    REWRITING,
    WRITING,
    CLASSIFICATION,
    REASONING,
    HONESTY,
)
